// One pass of partitioning: a block groups the tuples of a tile by their digit in shared memory, reserves
// room for every group with one atomic addition, and writes each group in one go.
//
// Which tile comes first is left to chance, so that tuples of a partition have no order; nothing needs one
// here, and no block waits for another. (With an order kept this is the downsweep of a radix sort.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/radix/radix_tuples.h"
#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

inline constexpr uint32_t kDigitBits = 8;  // of a pass, at most
inline constexpr uint32_t kDigits = 1 << kDigitBits;
inline constexpr uint32_t kScatterThreads = 512;
inline constexpr uint32_t kScatterBlocks = 2;  // that a multiprocessor shall hold

// The tuples [begin, end) of a source, which go to the partitions from number `partition` on, one a digit.
struct ScatterTile {
    uint32_t begin;
    uint32_t end;
    uint32_t partition;
};

// The digit of a key: its lowest bits number the partition, of which a pass looks at some.
struct ScatterDigit {
    uint32_t shift;
    uint32_t count;  // digits there are, a power of two

    template <typename Key>
    __device__ uint32_t of(Key key) const {
        return static_cast<uint32_t>(key >> shift) & (count - 1);
    }
};

// Tuples of a tile, as many as fill 64 kB.
template <typename Key, typename Payload>
struct ScatterMemory {
    using Tuples = RadixTuples<Key, Payload>;
    static constexpr uint32_t kItems = (64 << 10) / (kScatterThreads * Tuples::kBytes);  // a thread
    static constexpr uint32_t kTile = kItems * kScatterThreads;

    alignas(16) std::byte tuples_memory[kTile * Tuples::kBytes];
    uint32_t counts[kDigits];
    uint32_t starts[kDigits];   // by digit: its first tuple in this memory
    uint32_t targets[kDigits];  // by digit: where tuple 0 of this memory would go; wraps around
    uint32_t warp_sums[kDigits / 32];
    uint32_t tuples;
};

// Finds where each digit's tuples start, and reserves room for them behind the cursors. Called by all.
template <typename Memory>
__device__ void place_digits(Memory& memory, uint32_t* cursors, uint32_t digits) {
    uint32_t digit = threadIdx.x, lane = digit & 31, warp = digit / 32;
    uint32_t count = 0, inclusive = 0;
    if (digit < kDigits) {
        count = memory.counts[digit];
        inclusive = inclusive_warp_sum(count);
        if (lane == 31) memory.warp_sums[warp] = inclusive;
    }
    __syncthreads();
    if (digit < kDigits) {
        uint32_t start = inclusive - count;
        for (uint32_t i = 0; i < warp; i++) start += memory.warp_sums[i];
        memory.starts[digit] = start;
        if (count > 0 && digit < digits) memory.targets[digit] = atomicAdd(&cursors[digit], count) - start;
        if (digit == kDigits - 1) memory.tuples = start + count;
    }
    __syncthreads();
}

// Source, where tuples are read, has:
//   present(i), key(i), payload(i)   of tuple i
// Tiles, which block works on what, has:
//   tile(block)                      an empty one if there is nothing to do
template <typename Key, typename Payload, typename Source, typename Tiles>
__global__ void __launch_bounds__(kScatterThreads, kScatterBlocks)
    scatter_tuples(const __grid_constant__ Source source, const __grid_constant__ Tiles tiles,
                   ScatterDigit digit, uint32_t* cursors, RadixTuples<Key, Payload> to) {
    using Memory = ScatterMemory<Key, Payload>;
    extern __shared__ uint4 shared_words[];  // of the size that the launch asks for
    auto& memory = *reinterpret_cast<Memory*>(shared_words);
    constexpr uint32_t kAbsent = ~0u;
    const ScatterTile tile = tiles.tile(blockIdx.x);
    if (tile.begin >= tile.end) return;
    const RadixTuples<Key, Payload> grouped(memory.tuples_memory, Memory::kTile);
    if (threadIdx.x < kDigits) memory.counts[threadIdx.x] = 0;
    __syncthreads();

    RadixTuple<Key, Payload> tuples[Memory::kItems];
    uint32_t ranks[Memory::kItems];  // within the tile's tuples of the same digit
#pragma unroll
    for (uint32_t j = 0; j < Memory::kItems; j++) {
        uint32_t i = tile.begin + j * kScatterThreads + threadIdx.x;
        bool present = i < tile.end && i >= tile.begin && source.present(i);
        ranks[j] = present ? 0 : kAbsent;
        if (present) tuples[j] = {source.key(i), source.payload(i)};
    }
#pragma unroll
    for (uint32_t j = 0; j < Memory::kItems; j++)
        if (ranks[j] != kAbsent) ranks[j] = atomicAdd(&memory.counts[digit.of(tuples[j].key)], 1u);
    __syncthreads();
    place_digits(memory, cursors + tile.partition, digit.count);
#pragma unroll
    for (uint32_t j = 0; j < Memory::kItems; j++) {
        if (ranks[j] == kAbsent) continue;
        uint32_t place = memory.starts[digit.of(tuples[j].key)] + ranks[j];
        grouped.set(place, tuples[j]);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < memory.tuples; i += kScatterThreads) {
        RadixTuple<Key, Payload> tuple = grouped.get(i);
        to.set(memory.targets[digit.of(tuple.key)] + i, tuple);
    }
}

}  // namespace gpujoin::cuda
