// What becomes of a probe row whose candidates all match, as kernels see it.
#pragma once

#include "cuda/results/pair_source.h"

namespace gpujoin::cuda {

__device__ inline uint64_t slots_of(SlotRule rule, uint32_t matches) {
    switch (rule) {
        case SlotRule::Pairs:
            return matches;
        case SlotRule::PairsOrNull:
            return matches ? matches : 1;
        case SlotRule::Matched:
            return matches > 0;
        case SlotRule::Unmatched:
            return matches == 0;
    }
    return 0;
}

// Marks the positions [*begin, *begin + matches) as covered, if marks are kept, and returns the slots of
// their probe row. Where these have no build row it begins at kNoRow from here on.
__device__ inline uint64_t settle(SlotRule rule, const BuildMarks& marks, uint32_t* begin, uint32_t matches) {
    if (marks.coverage && matches) {
        atomicAdd(&marks.coverage[*begin], 1ull);
        atomicAdd(&marks.coverage[uint64_t{*begin} + matches], ~0ull);
    }
    if (matches == 0 || rule > SlotRule::PairsOrNull) *begin = kNoRow;
    return slots_of(rule, matches);
}

}  // namespace gpujoin::cuda
