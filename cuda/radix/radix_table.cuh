// The hash table of one chunk of build tuples in a block's shared memory: open addressing over distinct keys,
// and the payloads grouped by key, so that duplicates cost no search. Slots are searched by buckets of 16
// bytes, one access each: few keys need a second one, and those that do keep the other threads of a warp
// waiting.
//
//   keys      by slot: what is left of a key, or empty; the slots of a bucket are filled from the first on
//   starts    by slot: where the slot's payloads start; the next slot's start is their end
//   payloads  P P | P | P P P | …
#pragma once

#include <cstdint>

#include "cuda/radix/radix_tuples.h"
#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

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

// build() is called by every thread of the block together, find() by any.
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
        const uint64_t from = uint64_t{first} + threadIdx.x;  // the thread's first tuple
        clear();
        __syncthreads();
        uint32_t places[Shape::kItems];  // slot and rank within its group
#pragma unroll
        for (uint32_t j = 0; j < Shape::kItems; j++) {
            uint32_t i = j * kRadixThreads + threadIdx.x;
            places[j] = i < rows ? insert(tuples.get(from + j * kRadixThreads).key >> shift) : 0;
            __syncwarp();  // or threads whose search was short go on by themselves, and stay alone to the end
        }
        __syncthreads();
        sum_counts();
#pragma unroll
        for (uint32_t j = 0; j < Shape::kItems; j++) {
            uint32_t i = j * kRadixThreads + threadIdx.x;
            if (i >= rows) continue;
            payloads[start_of(places[j] & 0xffff) + (places[j] >> 16)] =
                tuples.get(from + j * kRadixThreads).payload;
        }
        __syncthreads();
    }

    __device__ RadixGroup find(Key key) const {
        uint32_t slot = first_slot(key), at;
        while (true) {
            Bucket bucket = *reinterpret_cast<const Bucket*>(&keys[slot]);
            at = bucket.find(key);
            if (at < kBucketKeys) break;
            if (bucket.key[kBucketKeys - 1] == kEmpty) return {0, 0};
            slot = (slot + kBucketKeys) % Shape::kSlots;
        }
        slot += at;
        uint32_t begin = start_of(slot);
        return {begin, start_of(slot + 1) - begin};
    }

  private:
    static constexpr uint32_t kBucketKeys = 16 / sizeof(Key);

    // The keys of neighbouring slots.
    struct alignas(16) Bucket {
        Key key[kBucketKeys];

        // What is there now, though other threads write.
        __device__ static Bucket load(const Key* keys) {
            Bucket bucket;
            auto address = static_cast<uint32_t>(__cvta_generic_to_shared(keys));
            if constexpr (sizeof(Key) == sizeof(uint32_t))
                asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(bucket.key[0]), "=r"(bucket.key[1]), "=r"(bucket.key[2]),
                               "=r"(bucket.key[3])
                             : "r"(address)
                             : "memory");
            else
                asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];"
                             : "=l"(bucket.key[0]), "=l"(bucket.key[1])
                             : "r"(address)
                             : "memory");
            return bucket;
        }

        // The first slot that holds `wanted`, which may be kEmpty; kBucketKeys: none does.
        __device__ uint32_t find(Key wanted) const {
            uint32_t at = kBucketKeys;
#pragma unroll
            for (uint32_t i = kBucketKeys; i-- > 0;)
                if (key[i] == wanted) at = i;
            return at;
        }
    };

    // The first slot of the bucket where the search for a key begins.
    __device__ static uint32_t first_slot(Key key) {
        return static_cast<uint32_t>(key) % (Shape::kSlots / kBucketKeys) * kBucketKeys;
    }

    __device__ uint32_t start_of(uint32_t slot) const {
        return reinterpret_cast<const uint16_t*>(counts)[slot];
    }

    __device__ void clear() {
        constexpr uint32_t kQuads = Shape::kSlots * sizeof(Key) / sizeof(uint4);
        for (uint32_t i = threadIdx.x; i < kQuads; i += kRadixThreads)
            reinterpret_cast<uint4*>(keys)[i] = {~0u, ~0u, ~0u, ~0u};
        for (uint32_t i = threadIdx.x; i < Shape::kSlots / 8; i += kRadixThreads)
            reinterpret_cast<uint4*>(counts)[i] = {0, 0, 0, 0};
    }

    __device__ static Key exchange(Key* slot, Key key) {
        if constexpr (sizeof(Key) == sizeof(unsigned long long))
            return atomicCAS(reinterpret_cast<unsigned long long*>(slot), kEmpty, key);
        else
            return atomicCAS(slot, kEmpty, key);
    }

    // A key is put where the first empty slot of its bucket was seen, unless another thread was there before.
    __device__ uint32_t insert(Key key) {
        uint32_t slot = first_slot(key), at;
        while (true) {
            Bucket bucket = Bucket::load(&keys[slot]);
            at = bucket.find(key);
            if (at < kBucketKeys) break;
            at = bucket.find(kEmpty);
            if (at == kBucketKeys) {
                slot = (slot + kBucketKeys) % Shape::kSlots;
                continue;
            }
            Key held = exchange(&keys[slot + at], key);
            if (held == kEmpty || held == key) break;
        }
        slot += at;
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

}  // namespace gpujoin::cuda
