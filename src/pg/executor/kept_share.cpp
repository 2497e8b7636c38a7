// See kept_share.h. Behind the struct there are the chunks that are to be taken, then a map for each chunk of
// the table.
#include "pg/executor/kept_share.h"

#include <algorithm>
#include <cstring>

#include "pg/kept_proof.h"

namespace gpujoin {

namespace {

// A process that has that many has its share of what comes of them, however long that takes.
constexpr uint32 kPartsOfProcess = 2;
constexpr uint32 kChunksAndPatches = 2;
// What is worth a message.
constexpr uint64 kFewestRows = 1024;

SharedChunk* chunks_in(const KeptShare* share) {
    return reinterpret_cast<SharedChunk*>(reinterpret_cast<uintptr_t>(share) + MAXALIGN(sizeof *share));
}

ChunkMap* maps_in(const KeptShare* share) {
    return reinterpret_cast<ChunkMap*>(chunks_in(share) + kChunksAndPatches * share->capacity);
}
static_assert(alignof(ChunkMap) == 1);

}  // namespace

Size kept_share_size(uint32 capacity) {
    return MAXALIGN(MAXALIGN(sizeof(KeptShare)) +
                    Size{capacity} * (kChunksAndPatches * sizeof(SharedChunk) + sizeof(ChunkMap)));
}

KeptShare* kept_share_init(void* memory, uint32 capacity, uint32 processes) {
    memset(memory, 0, kept_share_size(capacity));
    auto* share = static_cast<KeptShare*>(memory);
    share->capacity = capacity;
    share->processes = processes;
    kept_share_reset(share);
    return share;
}

void kept_share_reset(KeptShare* share) {
    for (uint32 i = 0; i < share->count; i++)
        memset(static_cast<void*>(maps_in(share) + chunks_in(share)[i].number), 0, sizeof(ChunkMap));
    share->count = 0;
    share->parts = 1;
    share->is_decided = false;
    pg_atomic_init_u32(&share->taken, 0);
    pg_atomic_init_u32(&share->used, 0);
    pg_atomic_init_u64(&share->passed_over, 0);
}

void kept_share_add(KeptShare* share, const SharedChunk& chunk) {
    Assert(chunk.number < share->capacity && share->count < kChunksAndPatches * share->capacity);
    chunks_in(share)[share->count++] = chunk;
    ChunkMap* passed_over = &maps_in(share)[chunk.number];
    *passed_over = all_blocks(*passed_over, chunk.map);
}

void kept_share_divide(KeptShare* share) {
    share->parts = 1;
    const uint32 wanted = share->processes > 1 ? kPartsOfProcess * share->processes : 1;
    if (share->count == 0 || share->count >= wanted) return;
    uint64 rows = 0;
    for (uint32 i = 0; i < share->count; i++) rows += chunks_in(share)[i].rows;
    const uint64 most = std::max<uint64>(1, rows / share->count / kFewestRows);
    share->parts = static_cast<uint32>(std::min<uint64>(most, (wanted + share->count - 1) / share->count));
}

SharedPart kept_share_take(KeptShare* share) {
    const uint32 number = pg_atomic_fetch_add_u32(&share->taken, 1);
    if (number >= share->count * share->parts) return {nullptr, 0};
    return {&chunks_in(share)[number / share->parts], number % share->parts};
}

uint32 kept_share_left(KeptShare* share) {
    const uint32 all = share->count * share->parts;
    return all - Min(pg_atomic_read_u32(&share->taken), all);
}

uint64 rows_of_part(const KeptShare* share, const SharedPart& part) {
    const uint64 rows = part.chunk->rows;
    return rows * (part.number + 1) / share->parts - rows * part.number / share->parts;
}

// The bytes of the map that stand for blocks of the table are divided.
ChunkMap map_of_part(const KeptShare* share, const SharedPart& part) {
    ChunkMap map = part.chunk->map;
    if (share->parts == 1) return map;
    const uint64 first = uint64{part.chunk->number} * kChunkBlocks;
    const uint64 blocks = Min(share->blocks - first, uint64{kChunkBlocks});
    const uint64 bytes = (blocks + 7) / 8;
    const uint64 begin = bytes * part.number / share->parts;
    const uint64 end = bytes * (part.number + 1) / share->parts;
    memset(map.bits, 0, begin);
    memset(map.bits + end, 0, kChunkMapBytes - end);
    return map;
}

const ChunkMap* kept_share_map(const KeptShare* share, uint32 number) {
    return maps_in(share) + number;
}

}  // namespace gpujoin
