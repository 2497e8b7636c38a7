// Legacy baselines: the primitives of the first published GPU join system (He et al., "Relational joins on
// graphics processors", SIGMOD 2008), in words of our own and only to be compared with: scan by up- and
// down-sweep, and a split without locks, in which every thread keeps a histogram of its own.
#pragma once

#include "cuda_check.cuh"

namespace gpujoin::bench::legacy {

// A row: a key and its row number.
using Tuple = uint2;

inline constexpr uint32_t kFanout = 64;  // as many histograms as threads have room for on the chip
inline constexpr uint32_t kSplitThreads = 64;
inline constexpr uint32_t kTuplesPerThread = 256;
inline constexpr uint32_t kScanThreads = 512;

inline uint32_t block_count(uint64_t items, uint64_t per_block) {
    return static_cast<uint32_t>((items + per_block - 1) / per_block);
}

// Scans 2 * kScanThreads items a block in shared memory: sums on the way up a binary tree, prefixes on the
// way down.
template <typename T>
__global__ void scan_blocks(T* items, uint64_t count, T* block_sums) {
    __shared__ T tree[2 * kScanThreads];
    const uint64_t first = uint64_t{blockIdx.x} * 2 * kScanThreads;
    for (uint32_t i = threadIdx.x; i < 2 * kScanThreads; i += kScanThreads)
        tree[i] = first + i < count ? items[first + i] : T{0};
    uint32_t distance = 1;
    for (uint32_t active = kScanThreads; active > 0; active /= 2, distance *= 2) {
        __syncthreads();
        uint32_t right = (threadIdx.x + 1) * 2 * distance - 1;
        if (threadIdx.x < active) tree[right] += tree[right - distance];
    }
    if (threadIdx.x == 0) {
        block_sums[blockIdx.x] = tree[2 * kScanThreads - 1];
        tree[2 * kScanThreads - 1] = 0;
    }
    for (uint32_t active = 1; active <= kScanThreads; active *= 2) {
        distance /= 2;
        __syncthreads();
        if (threadIdx.x >= active) continue;
        uint32_t right = (threadIdx.x + 1) * 2 * distance - 1;
        T left_sum = tree[right - distance];
        tree[right - distance] = tree[right];
        tree[right] += left_sum;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 2 * kScanThreads; i += kScanThreads)
        if (first + i < count) items[first + i] = tree[i];
}

template <typename T>
__global__ void add_block_sums(T* items, uint64_t count, const T* block_sums) {
    uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) items[i] += block_sums[i / (2 * kScanThreads)];
}

// Replaces items by their exclusive prefix sums.
template <typename T>
void exclusive_scan(T* items, uint64_t count) {
    const uint32_t blocks = block_count(count, 2 * kScanThreads);
    DeviceArray<T> block_sums(blocks);
    scan_blocks<<<blocks, kScanThreads>>>(items, count, block_sums.data());
    if (blocks == 1) return;
    exclusive_scan(block_sums.data(), blocks);
    add_block_sums<<<block_count(count, 256), 256>>>(items, count, block_sums.data());
}

template <typename PartitionOf>
__global__ void split_histogram(const Tuple* tuples, uint64_t rows, PartitionOf partition_of,
                                uint32_t* histograms) {
    __shared__ uint32_t counts[kFanout][kSplitThreads];
    const uint64_t thread = uint64_t{blockIdx.x} * kSplitThreads + threadIdx.x;
    const uint64_t threads = uint64_t{gridDim.x} * kSplitThreads;
    for (uint32_t p = 0; p < kFanout; p++) counts[p][threadIdx.x] = 0;
    const uint64_t first = thread * kTuplesPerThread;
    for (uint64_t row = first; row < first + kTuplesPerThread && row < rows; row++)
        counts[partition_of(tuples[row].x)][threadIdx.x]++;
    for (uint32_t p = 0; p < kFanout; p++) histograms[p * threads + thread] = counts[p][threadIdx.x];
}

template <typename PartitionOf>
__global__ void split_scatter(const Tuple* tuples, uint64_t rows, PartitionOf partition_of,
                              const uint32_t* offsets, Tuple* target) {
    __shared__ uint32_t next[kFanout][kSplitThreads];
    const uint64_t thread = uint64_t{blockIdx.x} * kSplitThreads + threadIdx.x;
    const uint64_t threads = uint64_t{gridDim.x} * kSplitThreads;
    for (uint32_t p = 0; p < kFanout; p++) next[p][threadIdx.x] = offsets[p * threads + thread];
    const uint64_t first = thread * kTuplesPerThread;
    for (uint64_t row = first; row < first + kTuplesPerThread && row < rows; row++) {
        Tuple tuple = tuples[row];
        target[next[partition_of(tuple.x)][threadIdx.x]++] = tuple;
    }
}

// Splits tuples into kFanout partitions, in order within each. partition_of(key) is below kFanout. Gives each
// thread's offset in each partition, partition by partition: partition p starts at [p * size / kFanout].
template <typename PartitionOf>
DeviceArray<uint32_t> split(const Tuple* tuples, uint64_t rows, PartitionOf partition_of, Tuple* target) {
    const uint32_t blocks = block_count(rows, uint64_t{kSplitThreads} * kTuplesPerThread);
    DeviceArray<uint32_t> offsets(uint64_t{blocks} * kSplitThreads * kFanout);
    split_histogram<<<blocks, kSplitThreads>>>(tuples, rows, partition_of, offsets.data());
    exclusive_scan(offsets.data(), offsets.size());
    split_scatter<<<blocks, kSplitThreads>>>(tuples, rows, partition_of, offsets.data(), target);
    cuda_check(cudaGetLastError());
    return offsets;
}

}  // namespace gpujoin::bench::legacy
