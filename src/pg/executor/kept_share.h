// KeptShare: what those who run a scan share of what is kept of it: the blocks that all of them pass over,
// and the chunks that stand for these blocks, in parts, each to be taken by one of them. What comes of a row
// is for who has taken it, as the rows of a join that drive a loop above: so where there are few chunks, each
// is several parts. One decides before the others look. It lies in the query's dynamic shared memory, or in
// that of a process that runs the scan alone.
#pragma once

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "port/atomics.h"
}

namespace gpujoin {

// Of a table's chunk, or of its patch.
struct SharedChunk {
    uint32 number;
    uint32 handle;  // in the session; 0: is to be made by who takes it
    uint64 rows;
    bool is_patch;
    ChunkMap map;  // of the blocks that it stands for
};

struct KeptShare {
    uint32 capacity;               // chunks of the table that there is room for, each with its patch
    uint32 processes;              // that run the scan, at most
    bool may_be_used;              // as far as the transaction is concerned
    bool is_decided;               // what follows is known
    bool may_make;                 // chunks
    uint64 blocks;                 // of the table
    uint32 chunks;                 // of the table
    uint32 count;                  // of those that are to be taken, patches among them
    uint32 parts;                  // of each of them
    pg_atomic_uint32 taken;        // parts
    pg_atomic_uint32 used;         // chunks
    pg_atomic_uint64 passed_over;  // blocks that nobody reads
};

Size kept_share_size(uint32 capacity);
KeptShare* kept_share_init(void* memory, uint32 capacity, uint32 processes);
// Nothing is decided any more. While nobody uses it.
void kept_share_reset(KeptShare* share);

// Who decides: all pass over the blocks that the chunk stands for.
void kept_share_add(KeptShare* share, const SharedChunk& chunk);

// Who decides: all chunks have been added.
void kept_share_divide(KeptShare* share);

// A part of a chunk, of all its blocks and rows.
struct SharedPart {
    const SharedChunk* chunk;  // nullptr: there are no more
    uint32 number;
};

// The next part that nobody has taken.
SharedPart kept_share_take(KeptShare* share);
// How many nobody has taken so far.
uint32 kept_share_left(KeptShare* share);

// The rows of a part, and those of the blocks that its chunk stands for.
uint64 rows_of_part(const KeptShare* share, const SharedPart& part);
ChunkMap map_of_part(const KeptShare* share, const SharedPart& part);

// The blocks of a chunk that are passed over, for it or for its patch; those of the next chunk follow.
const ChunkMap* kept_share_map(const KeptShare* share, uint32 number);

}  // namespace gpujoin
