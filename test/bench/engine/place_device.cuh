// Device memory: generated and checked by the device.
#pragma once

#include <cub/device/device_scan.cuh>

#include "cuda_check.cuh"
#include "place_of.h"

namespace gpujoin::bench {

template <typename Body>
__global__ void for_rows_kernel(uint64_t rows, Body body) {
    uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
    for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += stride) body(row);
}

template <typename Body>
__global__ void sum_kernel(uint64_t rows, Body body, Check* total) {
    uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
    Check sum;
    for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += stride)
        sum = sum + body(row);
    for (int offset = 16; offset > 0; offset /= 2) {
        sum.rows += __shfl_down_sync(~0u, sum.rows, offset);
        sum.sum += __shfl_down_sync(~0u, sum.sum, offset);
    }
    if (threadIdx.x % 32 != 0) return;
    add_atomically(&total->rows, sum.rows);
    add_atomically(&total->sum, sum.sum);
}

struct AddChecks {
    __host__ __device__ Check operator()(const Check& a, const Check& b) const { return a + b; }
};

struct DeviceExecutor {
    static constexpr uint32_t kThreads = 256;
    static constexpr uint64_t kMaxBlocks = 132 * 16;
    static uint32_t blocks(uint64_t rows) {
        return static_cast<uint32_t>(std::min(kMaxBlocks, (rows + kThreads - 1) / kThreads));
    }

    template <typename Body>
    static void for_rows(uint64_t rows, const Body& body) {
        if (rows == 0) return;
        for_rows_kernel<<<blocks(rows), kThreads>>>(rows, body);
        cuda_check(cudaDeviceSynchronize());
    }

    template <typename Body>
    static Check sum(uint64_t rows, const Body& body) {
        if (rows == 0) return {};
        DeviceArray<Check> total(1);
        cuda_check(cudaMemsetAsync(total.data(), 0, sizeof(Check), nullptr));
        sum_kernel<<<blocks(rows), kThreads>>>(rows, body, total.data());
        cuda_check(cudaGetLastError());
        return total.read(0);
    }

    static void prefix_sum(Check* sums, uint64_t rows) {
        size_t bytes = 0;
        cuda_check(cub::DeviceScan::InclusiveScan(nullptr, bytes, sums, sums, AddChecks{}, rows));
        DeviceArray<std::byte> scratch(bytes);
        cuda_check(cub::DeviceScan::InclusiveScan(scratch.data(), bytes, sums, sums, AddChecks{}, rows));
        cuda_check(cudaDeviceSynchronize());
    }
};

class DevicePlace final : public PlaceOf<DeviceExecutor> {
  public:
    Memory memory() const override { return Memory::Device; }
    Buffer allocate(uint64_t bytes) override {
        std::byte* memory = nullptr;
        cuda_check(cudaMalloc(&memory, std::max<uint64_t>(bytes, 1)));
        return Buffer(memory, [](std::byte* address) { cudaFree(address); });
    }
};

}  // namespace gpujoin::bench
