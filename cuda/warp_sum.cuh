// Sums over a warp.
#pragma once

#include <cstdint>

namespace gpujoin {

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

}  // namespace gpujoin
