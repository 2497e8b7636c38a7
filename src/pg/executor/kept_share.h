// KeptShare: what those who run a scan share of what is kept of it: the blocks that all of them pass over,
// and the chunks that stand for these blocks, each to be taken by one of them. One decides before the others
// look. It lies in the query's dynamic shared memory, or in that of a process that runs the scan alone.
#pragma once

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "port/atomics.h"
}

namespace gpujoin {

struct SharedChunk {
    uint32 number;
    uint32 handle;  // in the session; 0: is to be made by who takes it
    uint64 rows;
};

struct KeptShare {
    uint32 capacity;   // chunks of the table that there is room for
    bool may_be_used;  // as far as the transaction is concerned
    bool is_decided;   // what follows is known
    bool may_make;     // chunks
    uint64 blocks;     // of the table
    uint32 chunks;     // of the table
    uint32 count;      // of those that are to be taken
    pg_atomic_uint32 taken;
    pg_atomic_uint32 used;         // chunks
    pg_atomic_uint64 passed_over;  // blocks that nobody reads
};

// Of a table of so many blocks.
uint32 chunks_of_blocks(uint64 blocks);

Size kept_share_size(uint32 capacity);
KeptShare* kept_share_init(void* memory, uint32 capacity);
// Nothing is decided any more. While nobody uses it.
void kept_share_reset(KeptShare* share);

// Who decides: the chunk stands for the blocks of the map.
void kept_share_add(KeptShare* share, const SharedChunk& chunk, const ChunkMap* map);

// The next chunk that nobody has taken; nullptr: there are no more.
const SharedChunk* kept_share_take(KeptShare* share);
// How many nobody has taken so far.
uint32 kept_share_left(KeptShare* share);

// The blocks of a chunk that are passed over; those of the next chunk follow.
const ChunkMap* kept_share_map(const KeptShare* share, uint32 number);

}  // namespace gpujoin
