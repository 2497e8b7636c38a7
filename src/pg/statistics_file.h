// What was counted outlives a restart of PostgreSQL, as its own statistics do: it lies in a file from a
// shutdown to the next start. After a crash counting begins anew. PostgreSQL 18 can keep statistics of
// extensions itself, under a number that no other extension may use; a file does the same on every major.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

// Of so many bytes. False: there is no file, or it is not whole, of which the log tells; then `into` holds
// anything. In the postmaster, or the one process of single-user mode.
bool read_stored_statistics(void* into, uint32 bytes);

// Writes the file; the log tells where that failed. There, too, when nobody counts any more.
void store_statistics(const void* statistics, uint32 bytes);

// Before anybody counts, once it is certain that PostgreSQL has started: whatever ends it without storing
// them, older ones are not to come back, and no base backup has the file.
void remove_stored_statistics();

}  // namespace gpujoin
