// Sets of bits that a warp works on.
#pragma once

#include <cstdint>

#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

// The bits that any lane has. Called by all lanes together.
__device__ inline uint32_t warp_or(uint32_t bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(kAllLanes, bits);
#else
    for (int distance = 16; distance > 0; distance /= 2) bits |= __shfl_xor_sync(kAllLanes, bits, distance);
    return bits;
#endif
}

// The number of the set bit before which n others are; anything, if there are no more than n.
__device__ inline uint32_t nth_set_bit(uint32_t bits, uint32_t n) {
    uint32_t at = 0;
#pragma unroll
    for (uint32_t width = 16; width > 0; width /= 2) {
        uint32_t below = __popc(bits >> at & ((1u << width) - 1));
        if (below > n) continue;
        n -= below;
        at += width;
    }
    return at;
}

}  // namespace gpujoin::cuda
