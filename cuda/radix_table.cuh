// The hash table of one chunk of build tuples in a block's shared memory: open addressing over distinct keys,
// and the payloads grouped by key, so that duplicates cost no search.
//
//   keys      by slot: what is left of a key, or empty
//   starts    by slot: where the slot's payloads start; the next slot's start is their end
//   payloads  P P | P | P P P | …
#pragma once

#include <cstdint>

#include "cuda/radix_tuples.h"
#include "cuda/warp_sum.cuh"

namespace gpujoin {

inline constexpr uint32_t kRadixThreads = 512;
inline constexpr uint32_t kRadixWarps = kRadixThreads / 32;

// Slots of a table and build tuples of a chunk, by the width of keys.
template <typename Key>
struct RadixShape {
    static constexpr uint32_t kSlots = 32768 / sizeof(Key);
    static constexpr uint32_t kChunk = kSlots / 4 * 3;
    static constexpr uint32_t kItems = kChunk / kRadixThreads;  // a thread
};

// The payloads of a key.
struct RadixGroup {
    uint32_t begin;
    uint32_t count;
};

// All functions are called by every thread of the block together.
template <typename Key, typename Payload>
struct RadixTable {
    using Shape = RadixShape<Key>;
    static constexpr Key kEmpty = ~Key{0};  // no key is: at least one bit has been shifted out

    alignas(16) Key keys[Shape::kSlots];
    Payload payloads[Shape::kChunk];
    alignas(16) uint32_t counts[Shape::kSlots / 2 + 1];  // two of 16 bits in a word
    // Apart from the last of counts, which one thread writes while others read these, several at once.
    alignas(16) uint32_t warp_sums[kRadixWarps];

    // Builds the table of `rows` <= kChunk tuples from the first on. shift: bits of the keys that all tuples
    // share.
    __device__ void build(const RadixTuples<Key, Payload>& tuples, uint32_t first, uint32_t rows,
                          uint32_t shift) {
        for (uint32_t i = threadIdx.x; i < Shape::kSlots; i += kRadixThreads) keys[i] = kEmpty;
        for (uint32_t i = threadIdx.x; i < Shape::kSlots / 2 + 1; i += kRadixThreads) counts[i] = 0;
        __syncthreads();
        uint32_t places[Shape::kItems];  // slot and rank within its group
#pragma unroll
        for (uint32_t j = 0; j < Shape::kItems; j++) {
            uint32_t i = j * kRadixThreads + threadIdx.x;
            places[j] = i < rows ? insert(tuples.get(first + i).key >> shift) : 0;
            __syncwarp();  // or threads whose search was short go on by themselves, and stay alone to the end
        }
        __syncthreads();
        sum_counts();
#pragma unroll
        for (uint32_t j = 0; j < Shape::kItems; j++) {
            uint32_t i = j * kRadixThreads + threadIdx.x;
            if (i >= rows) continue;
            payloads[start_of(places[j] & 0xffff) + (places[j] >> 16)] = tuples.get(first + i).payload;
        }
        __syncthreads();
    }

    __device__ RadixGroup find(Key key) const {
        uint32_t slot = static_cast<uint32_t>(key) % Shape::kSlots;
        while (true) {
            Key held = keys[slot];
            if (held == kEmpty) return {0, 0};
            if (held == key) break;
            slot = (slot + 1) % Shape::kSlots;
        }
        uint32_t begin = start_of(slot);
        return {begin, start_of(slot + 1) - begin};
    }

  private:
    __device__ uint32_t start_of(uint32_t slot) const {
        return reinterpret_cast<const uint16_t*>(counts)[slot];
    }

    __device__ static Key exchange(Key* slot, Key key) {
        if constexpr (sizeof(Key) == sizeof(unsigned long long))
            return atomicCAS(reinterpret_cast<unsigned long long*>(slot), kEmpty, key);
        else
            return atomicCAS(slot, kEmpty, key);
    }

    __device__ uint32_t insert(Key key) {
        uint32_t slot = static_cast<uint32_t>(key) % Shape::kSlots;
        while (true) {
            Key held = *static_cast<volatile Key*>(&keys[slot]);
            if (held == kEmpty) held = exchange(&keys[slot], key);
            if (held == kEmpty || held == key) break;
            slot = (slot + 1) % Shape::kSlots;
        }
        uint32_t half = 16 * (slot & 1);
        uint32_t rank = atomicAdd(&counts[slot / 2], 1u << half) >> half & 0xffff;
        return slot | rank << 16;
    }

    // The starts of two slots from their counts; moves `start` on behind them.
    __device__ static uint32_t start_pair(uint32_t pair, uint32_t* start) {
        uint32_t first = *start, second = first + (pair & 0xffff);
        *start = second + (pair >> 16);
        return first | second << 16;
    }

    // Turns counts into starts, and sets the end behind the last.
    __device__ void sum_counts() {
        constexpr uint32_t kQuads = Shape::kSlots / 8 / kRadixThreads;
        uint4* own = reinterpret_cast<uint4*>(counts) + threadIdx.x * kQuads;
        uint4 quads[kQuads];
        uint32_t sum = 0;  // of both halves at once: no count of a chunk exceeds 16 bits
        for (uint32_t i = 0; i < kQuads; i++) {
            quads[i] = own[i];
            sum += quads[i].x + quads[i].y + quads[i].z + quads[i].w;
        }
        sum = (sum & 0xffff) + (sum >> 16);
        uint32_t inclusive = inclusive_warp_sum(sum);
        if ((threadIdx.x & 31) == 31) warp_sums[threadIdx.x / 32] = inclusive;
        __syncthreads();
        uint32_t start = inclusive - sum;
        for (uint32_t warp = 0; warp < threadIdx.x / 32; warp++) start += warp_sums[warp];
        for (uint32_t i = 0; i < kQuads; i++) {
            quads[i].x = start_pair(quads[i].x, &start);
            quads[i].y = start_pair(quads[i].y, &start);
            quads[i].z = start_pair(quads[i].z, &start);
            quads[i].w = start_pair(quads[i].w, &start);
            own[i] = quads[i];
        }
        if (threadIdx.x == kRadixThreads - 1) counts[Shape::kSlots / 2] = start;
        __syncthreads();
    }
};

}  // namespace gpujoin
