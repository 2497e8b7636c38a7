// The primitives with CUB, and the legacy ones.
#include "primitives.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "legacy_sort.cuh"
#include "place_device.cuh"

namespace gpujoin::bench {

namespace {

// Calls a two-phase CUB function: call(scratch, &bytes).
template <typename Call>
void with_scratch(const Call& call) {
    size_t bytes = 0;
    cuda_check(call(nullptr, bytes));
    DeviceArray<std::byte> scratch(bytes);
    cuda_check(call(scratch.data(), bytes));
}

__global__ void pack_pairs(const uint32_t* keys, uint64_t rows, legacy::Tuple* tuples) {
    uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (row < rows) tuples[row] = {keys[row], static_cast<uint32_t>(row)};
}

__global__ void unpack_pairs(const legacy::Tuple* tuples, PrimitiveArrays arrays) {
    uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (row >= arrays.rows) return;
    arrays.out[row] = tuples[row].x;
    arrays.out_ids[row] = tuples[row].y;
}

// What a split sorts by: the partition, computed from the key.
struct WritePartition {
    const uint32_t* keys;
    uint8_t* partitions;
    uint32_t* ids;
    GPUJOIN_HD void operator()(uint64_t row) const {
        partitions[row] = static_cast<uint8_t>(split_partition(keys[row]));
        ids[row] = static_cast<uint32_t>(row);
    }
};

template <typename Body>
void launch(uint64_t rows, const Body& body) {
    for_rows_kernel<<<DeviceExecutor::blocks(rows), DeviceExecutor::kThreads>>>(rows, body);
    cuda_check(cudaGetLastError());
}

void split(const PrimitiveArrays& arrays) {
    DeviceArray<uint8_t> partitions(arrays.rows), sorted(arrays.rows);
    DeviceArray<uint32_t> ids(arrays.rows);
    launch(arrays.rows, WritePartition{arrays.keys, partitions.data(), ids.data()});
    with_scratch([&](void* scratch, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, partitions.data(), sorted.data(), ids.data(),
                                               arrays.out_ids, arrays.rows, 0, 6);
    });
    PrimitiveArrays gather = arrays;
    gather.positions = arrays.out_ids;
    launch(arrays.rows, GatherRow{gather});
}

void sort(const PrimitiveArrays& arrays) {
    DeviceArray<uint32_t> ids(arrays.rows);
    launch(arrays.rows, FillRowNumber{4, reinterpret_cast<std::byte*>(ids.data())});
    with_scratch([&](void* scratch, size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, arrays.keys, arrays.out, ids.data(),
                                               arrays.out_ids, arrays.rows);
    });
}

void scan(const PrimitiveArrays& arrays) {
    with_scratch([&](void* scratch, size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, arrays.keys, arrays.out, arrays.rows);
    });
}

struct SplitPartition {
    __device__ uint32_t operator()(uint32_t key) const { return split_partition(key); }
};

}  // namespace

void run_device_primitive(Primitive primitive, const PrimitiveArrays& arrays) {
    switch (primitive) {
        case Primitive::Map:
            return launch(arrays.rows, MapRow{arrays});
        case Primitive::Scatter:
            return launch(arrays.rows, ScatterRow{arrays});
        case Primitive::Gather:
            return launch(arrays.rows, GatherRow{arrays});
        case Primitive::Scan:
            return scan(arrays);
        case Primitive::Split:
            return split(arrays);
        case Primitive::Sort:
            return sort(arrays);
    }
}

void run_legacy_primitive(Primitive primitive, bool by_quick_sort, const PrimitiveArrays& arrays) {
    const uint64_t rows = arrays.rows;
    if (primitive == Primitive::Scan) {
        cuda_check(cudaMemcpyAsync(arrays.out, arrays.keys, rows * sizeof(uint32_t), cudaMemcpyDeviceToDevice,
                                   nullptr));
        return legacy::exclusive_scan(arrays.out, rows);
    }
    const uint32_t blocks = legacy::block_count(rows, 256);
    DeviceArray<legacy::Tuple> tuples(rows), scratch(rows);
    pack_pairs<<<blocks, 256>>>(arrays.keys, rows, tuples.data());
    if (primitive == Primitive::Split) {
        legacy::split(tuples.data(), rows, SplitPartition{}, scratch.data());
        std::swap(tuples, scratch);
    } else if (by_quick_sort) {
        legacy::quick_sort(tuples.data(), scratch.data(), rows);
    } else {
        legacy::bitonic_sort(tuples.data(), rows);
    }
    unpack_pairs<<<blocks, 256>>>(tuples.data(), arrays);
    cuda_check(cudaGetLastError());
}

}  // namespace gpujoin::bench
