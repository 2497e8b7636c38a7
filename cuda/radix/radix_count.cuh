// How many tuples each partition gets: every block counts in shared memory what it sees, and adds its counts
// to those of all blocks at the end. Where there are more partitions than shared memory has room for, the
// tuples are read once for each slice of them.
#pragma once

#include <cstdint>

namespace gpujoin::cuda {

inline constexpr uint32_t kCountThreads = 1024;
inline constexpr uint32_t kCountItems = 8;  // tuples that a thread reads at once

// The partitions [first, first + count).
struct PartitionSlice {
    uint32_t first;
    uint32_t count;
};

// mask: the bits of a key that number its partition. Source: see radix_scatter.cuh.
template <typename Source>
__global__ void __launch_bounds__(kCountThreads)
    count_partitions(const __grid_constant__ Source source, uint32_t tuples, uint32_t mask,
                     PartitionSlice slice, uint32_t* counts) {
    extern __shared__ uint32_t shared_counts[];  // slice.count
    constexpr uint32_t kTile = kCountThreads * kCountItems;
    for (uint32_t i = threadIdx.x; i < slice.count; i += kCountThreads) shared_counts[i] = 0;
    __syncthreads();
    for (uint64_t base = uint64_t{blockIdx.x} * kTile; base < tuples; base += uint64_t{gridDim.x} * kTile) {
        uint32_t places[kCountItems];
#pragma unroll
        for (uint32_t j = 0; j < kCountItems; j++) {
            uint64_t i = base + j * kCountThreads + threadIdx.x;
            bool counts_here = i < tuples && source.present(i);
            places[j] = counts_here ? (static_cast<uint32_t>(source.key(i)) & mask) - slice.first : ~0u;
        }
#pragma unroll
        for (uint32_t j = 0; j < kCountItems; j++)
            if (places[j] < slice.count) atomicAdd(&shared_counts[places[j]], 1u);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < slice.count; i += kCountThreads)
        if (shared_counts[i] > 0) atomicAdd(&counts[slice.first + i], shared_counts[i]);
}

}  // namespace gpujoin::cuda
