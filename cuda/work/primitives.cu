// Wrappers of CUB's device-wide algorithms.
#include "cuda/work/primitives.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "cuda/work/with_temporary.cuh"

namespace gpujoin::cuda {

namespace {

template <typename T>
Status exclusive_sum_of(MemoryAccount& account, cudaStream_t stream, T* values, uint64_t count) {
    if (count == 0) return {};
    return with_temporary(account, stream, [=](void* temporary, size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, values, values, count, stream);
    });
}

}  // namespace

Status exclusive_sum(MemoryAccount& account, cudaStream_t stream, uint64_t* values, uint64_t count) {
    return exclusive_sum_of(account, stream, values, count);
}

Status exclusive_sum(MemoryAccount& account, cudaStream_t stream, uint32_t* values, uint64_t count) {
    return exclusive_sum_of(account, stream, values, count);
}

template <typename Key, typename Value>
Status sort_pairs(MemoryAccount& account, cudaStream_t stream, DeviceArray<Key>* keys,
                  DeviceArray<Value>* values, uint64_t count, int bits) {
    if (count <= 1 || bits == 0) return {};
    DeviceArray<Key> other_keys;
    DeviceArray<Value> other_values;
    GPUJOIN_RETURN_IF_FAILED(other_keys.allocate(account, count, stream));
    GPUJOIN_RETURN_IF_FAILED(other_values.allocate(account, count, stream));
    cub::DoubleBuffer<Key> key_buffer(keys->data(), other_keys.data());
    cub::DoubleBuffer<Value> value_buffer(values->data(), other_values.data());
    GPUJOIN_RETURN_IF_FAILED(with_temporary(account, stream, [&](void* temporary, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, key_buffer, value_buffer, count, 0, bits,
                                               stream);
    }));
    if (key_buffer.Current() != keys->data()) *keys = std::move(other_keys);
    if (value_buffer.Current() != values->data()) *values = std::move(other_values);
    return {};
}

template Status sort_pairs(MemoryAccount&, cudaStream_t, DeviceArray<uint32_t>*, DeviceArray<uint32_t>*,
                           uint64_t, int);
template Status sort_pairs(MemoryAccount&, cudaStream_t, DeviceArray<uint32_t>*, DeviceArray<uint64_t>*,
                           uint64_t, int);
template Status sort_pairs(MemoryAccount&, cudaStream_t, DeviceArray<uint64_t>*, DeviceArray<uint32_t>*,
                           uint64_t, int);
template Status sort_pairs(MemoryAccount&, cudaStream_t, DeviceArray<uint64_t>*, DeviceArray<uint64_t>*,
                           uint64_t, int);

Status sort_keys(MemoryAccount& account, cudaStream_t stream, DeviceArray<uint64_t>* keys, uint64_t count) {
    if (count <= 1) return {};
    DeviceArray<uint64_t> others;
    GPUJOIN_RETURN_IF_FAILED(others.allocate(account, count, stream));
    cub::DoubleBuffer<uint64_t> buffer(keys->data(), others.data());
    GPUJOIN_RETURN_IF_FAILED(with_temporary(account, stream, [&](void* temporary, size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(temporary, bytes, buffer, count, 0, 64, stream);
    }));
    if (buffer.Current() != keys->data()) *keys = std::move(others);
    return {};
}

template <typename Key, typename Value>
Status sort_pairs_into(MemoryAccount& account, cudaStream_t stream, const Key* keys, const Value* values,
                       uint64_t count, int bits, Key* sorted_keys, Value* sorted_values) {
    if (count == 0) return {};
    return with_temporary(account, stream, [=](void* temporary, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, values, sorted_values,
                                               count, 0, bits, stream);
    });
}

template Status sort_pairs_into(MemoryAccount&, cudaStream_t, const uint32_t*, const uint32_t*, uint64_t, int,
                                uint32_t*, uint32_t*);
template Status sort_pairs_into(MemoryAccount&, cudaStream_t, const uint32_t*, const uint64_t*, uint64_t, int,
                                uint32_t*, uint64_t*);
template Status sort_pairs_into(MemoryAccount&, cudaStream_t, const uint64_t*, const uint32_t*, uint64_t, int,
                                uint64_t*, uint32_t*);
template Status sort_pairs_into(MemoryAccount&, cudaStream_t, const uint64_t*, const uint64_t*, uint64_t, int,
                                uint64_t*, uint64_t*);

}  // namespace gpujoin::cuda
