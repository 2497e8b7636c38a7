// See kept_share.h. Behind the struct there are the chunks that are to be taken, then a map for each chunk of
// the table.
#include "pg/executor/kept_share.h"

#include <cstring>

namespace gpujoin {

namespace {

SharedChunk* chunks_in(const KeptShare* share) {
    return reinterpret_cast<SharedChunk*>(reinterpret_cast<uintptr_t>(share) + MAXALIGN(sizeof *share));
}

ChunkMap* maps_in(const KeptShare* share) {
    return reinterpret_cast<ChunkMap*>(chunks_in(share) + share->capacity);
}
static_assert(alignof(ChunkMap) == 1);

}  // namespace

uint32 chunks_of_blocks(uint64 blocks) {
    return static_cast<uint32>((blocks + kChunkBlocks - 1) / kChunkBlocks);
}

Size kept_share_size(uint32 capacity) {
    return MAXALIGN(MAXALIGN(sizeof(KeptShare)) + Size{capacity} * (sizeof(SharedChunk) + sizeof(ChunkMap)));
}

KeptShare* kept_share_init(void* memory, uint32 capacity) {
    memset(memory, 0, kept_share_size(capacity));
    auto* share = static_cast<KeptShare*>(memory);
    share->capacity = capacity;
    kept_share_reset(share);
    return share;
}

void kept_share_reset(KeptShare* share) {
    for (uint32 i = 0; i < share->count; i++)
        memset(static_cast<void*>(maps_in(share) + chunks_in(share)[i].number), 0, sizeof(ChunkMap));
    share->count = 0;
    share->is_decided = false;
    pg_atomic_init_u32(&share->taken, 0);
    pg_atomic_init_u32(&share->used, 0);
    pg_atomic_init_u64(&share->passed_over, 0);
}

void kept_share_add(KeptShare* share, const SharedChunk& chunk, const ChunkMap* map) {
    Assert(chunk.number < share->capacity && share->count < share->capacity);
    chunks_in(share)[share->count++] = chunk;
    maps_in(share)[chunk.number] = *map;
}

const SharedChunk* kept_share_take(KeptShare* share) {
    uint32 number = pg_atomic_fetch_add_u32(&share->taken, 1);
    return number < share->count ? &chunks_in(share)[number] : nullptr;
}

uint32 kept_share_left(KeptShare* share) {
    return share->count - Min(pg_atomic_read_u32(&share->taken), share->count);
}

const ChunkMap* kept_share_map(const KeptShare* share, uint32 number) {
    return maps_in(share) + number;
}

}  // namespace gpujoin
