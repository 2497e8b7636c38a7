// Device-wide primitives, each compiled once: thin wrappers of CUB that take their temporary memory from the
// join's account and run in a stream's order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/memory/memory.h"

namespace gpujoin::cuda {

// Turns counts into exclusive prefix sums in place. Give one more element than there are counts, zero, to
// find the total there.
Status exclusive_sum(MemoryAccount& account, cudaStream_t stream, uint64_t* values, uint64_t count);
Status exclusive_sum(MemoryAccount& account, cudaStream_t stream, uint32_t* values, uint64_t count);

// Sorts (key, value) pairs by the key's lowest `bits` bits; pairs with equal keys keep their order. Both
// arrays are replaced by sorted ones. Keys and values of 32 or 64 bits.
template <typename Key, typename Value>
Status sort_pairs(MemoryAccount& account, cudaStream_t stream, DeviceArray<Key>* keys,
                  DeviceArray<Value>* values, uint64_t count, int bits);

// The same from one place into another.
template <typename Key, typename Value>
Status sort_pairs_into(MemoryAccount& account, cudaStream_t stream, const Key* keys, const Value* values,
                       uint64_t count, int bits, Key* sorted_keys, Value* sorted_values);

// Sorts keys of 64 bits. The array is replaced by a sorted one.
Status sort_keys(MemoryAccount& account, cudaStream_t stream, DeviceArray<uint64_t>* keys, uint64_t count);

// Sets every byte of `count` elements.
template <typename T>
Status fill_bytes(cudaStream_t stream, T* values, uint8_t byte, uint64_t count) {
    if (count == 0) return {};
    GPUJOIN_CHECK_CUDA(cudaMemsetAsync(values, byte, count * sizeof(T), stream));
    return {};
}

}  // namespace gpujoin::cuda
