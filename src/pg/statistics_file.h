// What was counted outlives a restart of PostgreSQL, as its own statistics do: it lies in a file from a
// shutdown to the next start. After a crash counting begins anew. PostgreSQL 18 can keep statistics of
// extensions itself, under a number that no other extension may use; a file does the same on every major.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

// Reads the file, of so many bytes, and removes it, so that no backup has it, and none is there after a
// crash. False: there was none, or it was not whole, of which the log tells; then `into` holds anything. In
// the postmaster.
bool take_stored_statistics(void* into, uint32 bytes);

// Writes the file; the log tells where that failed. In the postmaster, when nobody counts any more.
void store_statistics(const void* statistics, uint32 bytes);

}  // namespace gpujoin
