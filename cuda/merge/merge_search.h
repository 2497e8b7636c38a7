// Sorted search, after Baxter's moderngpu: the probe batch is sorted too, and merged with the build side's
// keys along the merge path, in tiles of equal size however the two interleave. A tile's stretch of build
// keys is brought into shared memory, and its probe keys are searched there. Where a probe key falls is where
// its candidates begin; they end close by.
//
// An *entry* is a probe row in sorted order, or behind these one that cannot match.
#pragma once

#include <cstdint>

#include "cuda/hash/lookup.h"
#include "cuda/results/pair_source.h"

namespace gpujoin::cuda {

inline constexpr uint32_t kTileSteps = 2048;  // of the merge; no tile has more entries

// Where a tile begins: its first entry, and the first build position that its entries may fall on.
struct TileBound {
    uint32_t entry;
    uint32_t position;
};

// As find_candidates(), for a lookup whose keys are sorted for merging.
Status find_by_merge(const WorkContext& context, const LookupView& lookup, const DeviceColumn* probe,
                     RequiredColumns required, uint64_t rows, Candidates* candidates);

// Candidates in sorted order. Where has_counts is not set, each entry of the tile has one slot if it begins
// somewhere, else none, and its count is not written.
struct SortedCandidates {
    Candidates by_entry;              // begin: kNoRow where an entry's slots have no build row
    DeviceArray<TileBound> bounds;    // of tiles, and the end of the last
    DeviceArray<uint64_t> slots;      // by tile; one more than there are tiles, the last 0
    DeviceArray<uint8_t> has_counts;  // by tile
    uint64_t tiles() const { return slots.size() - 1; }
};

// For a lookup whose keys are sorted for merging, and candidates that all match. probe: the batch; where
// there are several bounds its row numbers ride along.
Status find_sorted(const WorkContext& context, const ProbeWork& work, const SortedSide& probe,
                   SortedCandidates* candidates);

}  // namespace gpujoin::cuda
