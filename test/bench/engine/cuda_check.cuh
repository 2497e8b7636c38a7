// CUDA calls of the benchmark: a failure is an exception.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

namespace gpujoin::bench {

inline void cuda_check(cudaError_t error) {
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw std::bad_alloc();
    }
    if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// A temporary array of the benchmark's on the device, from the default memory pool.
template <typename T>
class DeviceArray {
  public:
    DeviceArray() = default;
    explicit DeviceArray(uint64_t size) : size_(size) {
        cuda_check(cudaMallocAsync(&data_, size ? size * sizeof(T) : 1, nullptr));
    }
    ~DeviceArray() {
        if (data_) cudaFreeAsync(data_, nullptr);
    }
    DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
    DeviceArray& operator=(DeviceArray&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    T* data() const { return data_; }
    uint64_t size() const { return size_; }
    // Waits for the device.
    T read(uint64_t index) const {
        T value;
        cuda_check(cudaMemcpy(&value, data_ + index, sizeof(T), cudaMemcpyDeviceToHost));
        return value;
    }

  private:
    T* data_ = nullptr;
    uint64_t size_ = 0;
};

}  // namespace gpujoin::bench
