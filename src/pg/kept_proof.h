// What proves that blocks of a table have not changed: pages of its visibility map, or else their own. See
// docs/design.md, Kept columns, for what is concluded from them and why.
#pragma once

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
}

namespace gpujoin {

// What a page of the map said of a chunk at one moment.
struct MapPage {
    uint64 version;  // the LSN of the page
    ChunkMap map;    // the blocks whose rows are visible to all
};

uint64 count_blocks(const ChunkMap& map);
// Those that one of two maps has.
ChunkMap all_blocks(const ChunkMap& a, const ChunkMap& b);
// Those that both maps have.
ChunkMap common_blocks(const ChunkMap& a, const ChunkMap& b);
// Those of `a` that are not in `b`.
ChunkMap other_blocks(const ChunkMap& a, const ChunkMap& b);
// Those of a chunk that a table of so many blocks has.
ChunkMap blocks_of_chunk(uint32 chunk, BlockNumber blocks);

// Reads the bits of a chunk's blocks. False where there is no page with them, or it proves nothing.
bool read_map_page(Relation relation, uint32 chunk, MapPage* page);

// How scans read a table of its size.
BufferAccessStrategy scan_strategy(Relation relation);

// How far the log of changes has come, or its replay on a standby: what is read from now on is kept since
// then.
uint64 log_position();

// How many blocks may turn out not to be proven, and how many may be read for that, since they do not lie in
// shared buffers.
struct ProvingLimits {
    uint64 may_change;
    uint64 may_read;
};

// What pages say that lie in shared buffers, of blocks that have been kept since then. Others are not read.
struct BufferedBlocks {
    ChunkMap unchanged;  // since then
    ChunkMap unread;     // they do not lie there
};
BufferedBlocks look_at_buffered(Relation relation, uint32 chunk, const ChunkMap& blocks, uint64 since);

// Those of a chunk's blocks whose pages have not been changed since they were read; it had come so far before
// that. The map, which has their bits, has been read before. Gives up beyond the limits: then there are too
// few, or none where too many would have to be read.
ChunkMap unchanged_blocks(Relation relation, uint32 chunk, const ChunkMap& blocks, uint64 since,
                          const ProvingLimits& limits);

// A page is *settled* if each of its tuples is seen by every snapshot that there is or will be, or by none of
// them. Lists those that are seen; -1 where the page is not settled. The page is locked; horizon: what
// GetOldestNonRemovableTransactionId() gave before. As VACUUM asks before it marks a page
// (heap_page_is_all_visible()), but that it has removed before what nobody sees.
int list_settled_tuples(Relation relation, Buffer buffer, TransactionId horizon, OffsetNumber* lines);

// Whether pages of a table prove anything by themselves.
bool do_pages_prove();

// Whether patches are made and used: not on a standby.
bool may_patch();

// Those of a chunk's blocks whose pages are at the same place of the log of changes as they were, by block,
// when they were read.
ChunkMap blocks_left_alone(Relation relation, uint32 chunk, const ChunkMap& blocks, const uint64* positions);

// Whether columns of this table may be kept, and kept ones be used, by this transaction and under this
// snapshot.
bool may_use_kept_columns(Relation relation, const EState* estate);

ChunkKey chunk_key(Relation relation, uint32 chunk);

// How many a table of so many blocks has.
uint32 chunks_of_blocks(uint64 blocks);

}  // namespace gpujoin
