// How the keeper of a database and its helpers share the chunks of a table: who is free takes the next one.
#pragma once

#include "pg/keep_requests.h"

namespace gpujoin {

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_keep_sharing();

// --- For a keeper

// Before it shares anything; what it shares ends at the latest when the process does.
void enter_sharing();
// Begins to share what is asked for, of a table of so many blocks.
void share_chunks(const KeepRequest* request, uint64 blocks, uint32 chunks);
// Has helpers come where that pays and they are not there.
void call_helpers();
// What has come of it. Over: no chunk is left, and nobody is at one.
struct SharedKeeping {
    bool is_over;
    bool has_failed;
    uint64 kept;  // blocks
};
SharedKeeping shared_keeping();
void end_sharing();

// --- For helpers

// Before it joins anything; it leaves at the latest when the process ends.
void enter_helpers(Oid database);
// What the keeper of this database shares, if chunks are left of it, until the next call; nullptr: nothing.
const KeepRequest* join_sharing(uint64* blocks);

// --- For both, of what they share

// The next chunk. False where none is left, or one could not be kept.
bool take_chunk(uint32* chunk);
// Of the chunk that was taken, so many blocks are kept.
void end_chunk(bool is_kept, uint64 blocks);
// The table is not to be kept any more.
void give_up_chunks();

}  // namespace gpujoin
