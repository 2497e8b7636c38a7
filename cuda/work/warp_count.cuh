// Counting with few atomics: the lanes of a warp that count for the same place do so together. Rows that
// share a hot key would otherwise queue for one address.
#pragma once

#include <cstdint>

namespace gpujoin::cuda {

// Adds 1 to counts[place]; returns what was there before, as if the lanes had come one after the other. Lanes
// of a warp may be missing.
__device__ inline uint32_t count_together(uint32_t* counts, uint32_t place) {
    uint32_t lanes = __match_any_sync(__activemask(), place);
    uint32_t lane = threadIdx.x & 31;
    auto first = static_cast<uint32_t>(__ffs(static_cast<int>(lanes))) - 1;
    uint32_t before = 0;
    if (lane == first) before = atomicAdd(&counts[place], static_cast<uint32_t>(__popc(lanes)));
    return __shfl_sync(lanes, before, static_cast<int>(first)) + __popc(lanes & ((1u << lane) - 1));
}

}  // namespace gpujoin::cuda
