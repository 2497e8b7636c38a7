// Sums over a warp.
#pragma once

#include <cstdint>

namespace gpujoin::cuda {

inline constexpr uint32_t kAllLanes = 0xffffffff;

// Of this lane's value and those of the lanes before it. Called by all lanes together.
template <typename T>
__device__ T inclusive_warp_sum(T value) {
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        T before = __shfl_up_sync(kAllLanes, value, distance);
        if ((threadIdx.x & 31) >= distance) value += before;
    }
    return value;
}

// The same of counts that are mostly 0 or 1, which are summed by a vote. No sum exceeds 32 bits.
__device__ inline uint32_t inclusive_warp_sum_of_few(uint32_t count) {
    if (__any_sync(kAllLanes, count > 1)) return inclusive_warp_sum(count);
    return __popc(__ballot_sync(kAllLanes, count) & kAllLanes >> (31 - (threadIdx.x & 31)));
}

}  // namespace gpujoin::cuda
