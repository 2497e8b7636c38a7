// See proven_share.h.
#include "pg/proven_share.h"

#include <algorithm>

#include "pg/compat.h"
#include "pg/kept_proof.h"
#include "pg/vacuum_ends.h"

extern "C" {
#include "access/xlog.h"
#include "storage/bufmgr.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kSampledChunks = 64;
constexpr uint32 kSampledBlocks = 128;
constexpr uint32 kSampledOfChunk = 64;  // of these, at most

struct Samples {
    uint32 taken = 0;
    uint32 proven = 0;
};

// The next one of so many blocks that the map has; that number: there is none.
uint32 next_block(const ChunkMap& map, uint32 block, uint32 blocks) {
    while (block < blocks && !map.has(block)) block++;
    return block;
}

// A page that does not lie in shared buffers is not read, nor would a query read it to prove it.
void take_sample(Relation relation, BlockNumber block, uint64 since, Samples* samples) {
    samples->taken++;
    const Buffer buffer = pin_if_buffered(relation, block);
    if (!BufferIsValid(buffer)) return;
    const XLogRecPtr changed = BufferGetLSNAtomic(buffer);
    ReleaseBuffer(buffer);
    samples->proven += !XLogRecPtrIsInvalid(changed) && changed <= since;
}

// Of the blocks that a chunk's map has among its first ones.
double proven_share(Relation relation, uint32 chunk, const ChunkMap& map, uint32 blocks, uint64 since,
                    uint32 count) {
    if (!XLogIsNeeded()) return 0;  // pages prove nothing then
    Samples samples;
    const uint32 step = std::max(blocks / count, 1u);
    for (uint32 at = 0; (at = next_block(map, at, blocks)) < blocks; at += step)
        take_sample(relation, chunk * kChunkBlocks + at, since, &samples);
    return samples.taken > 0 ? static_cast<double>(samples.proven) / samples.taken : 1;
}

}  // namespace

double estimate_proven_share(Relation relation, BlockNumber blocks, uint64 since) {
    const uint32 chunks = chunks_of_blocks(blocks);
    const uint32 step = (chunks + kSampledChunks - 1) / kSampledChunks;
    const bool is_unvacuumed = latest_vacuum_end(relation) <= since;
    double proven = 0;
    double sampled = 0;
    for (uint32 chunk = 0; chunk < chunks; chunk += step) {
        const uint32 of_chunk = std::min(blocks - chunk * kChunkBlocks, kChunkBlocks);
        sampled += of_chunk;
        MapPage page;
        if (!read_map_page(relation, chunk, &page)) continue;
        auto visible = static_cast<double>(std::min<uint64>(count_blocks(page.map), of_chunk));
        if (page.version > since && !is_unvacuumed) {
            const uint32 samples = std::min(kSampledBlocks * step / chunks, kSampledOfChunk);
            visible *= proven_share(relation, chunk, page.map, of_chunk, since, samples);
        }
        proven += visible;
    }
    return sampled > 0 ? proven / sampled : 0;
}

}  // namespace gpujoin
