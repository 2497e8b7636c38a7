// Device memory: a stream-ordered pool per device that keeps what it once reserved, an account per join that
// charges every allocation to the ledgers, and arrays that give back on destruction.
//
// What small arrays give back is kept for the next request of the same size on the same stream, which batches
// of equal size make again and again: asking the driver takes longer than joining a batch. It stays charged
// to the pool, and is given up when there would be no room otherwise.
//
// An array is given back in the order of the stream that it was made on. Work on other streams that uses it
// must have been waited for by then.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/work/check.h"
#include "engine/ledger.h"

namespace gpujoin::cuda {

class DevicePool {
  public:
    // limit: bytes that all joins on this device may take.
    DevicePool(int device, uint64_t limit) : device_(device), ledger_(limit) {}
    ~DevicePool();
    DevicePool(const DevicePool&) = delete;
    DevicePool& operator=(const DevicePool&) = delete;

    Status open();
    // Who is asked to give memory up, so many bytes, that joins want and that there is no room for.
    void set_reclaim(std::function<void(uint64_t)> reclaim) { reclaim_ = std::move(reclaim); }
    int device() const { return device_; }
    cudaMemPool_t handle() const { return pool_; }
    Ledger& ledger() { return ledger_; }

    // Memory of exactly so many bytes for use in the stream's order; charged here. Thread-safe.
    Status allocate(uint64_t bytes, cudaStream_t stream, void** memory);
    void release(void* memory, uint64_t bytes, cudaStream_t stream);

  private:
    bool charge(uint64_t bytes);
    void* take_kept(uint64_t bytes, cudaStream_t stream);
    bool keep(void* memory, uint64_t bytes, cudaStream_t stream);  // false: not, for whatever reason
    void give_up_kept();
    void reclaim(uint64_t bytes);

    const int device_;
    Ledger ledger_;
    cudaMemPool_t pool_ = nullptr;
    std::function<void(uint64_t)> reclaim_;
    std::mutex mutex_;
    uint64_t kept_bytes_ = 0;
    std::map<std::pair<cudaStream_t, uint64_t>, std::vector<void*>> kept_;  // by stream and bytes
};

// What one join has of the pool. Thread-safe.
class MemoryAccount {
  public:
    // join_ledger may be null; neither is owned.
    MemoryAccount(DevicePool* pool, Ledger* join_ledger) : pool_(pool), ledger_(UINT64_MAX, join_ledger) {}

    Status allocate(uint64_t bytes, cudaStream_t stream, void** memory);
    void release(void* memory, uint64_t bytes, cudaStream_t stream);
    uint64_t peak() const { return ledger_.peak(); }

  private:
    DevicePool* const pool_;
    Ledger ledger_;
};

// Elements on the device, not initialised.
template <typename T>
class DeviceArray {
  public:
    DeviceArray() = default;
    ~DeviceArray() { reset(); }
    DeviceArray(DeviceArray&& other) noexcept { swap(other); }
    DeviceArray& operator=(DeviceArray&& other) noexcept {
        swap(other);
        return *this;
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    // Makes room for `count` elements; what was there before is given back.
    Status allocate(MemoryAccount& account, uint64_t count, cudaStream_t stream) {
        reset();
        if (count == 0) return {};
        void* memory = nullptr;
        GPUJOIN_RETURN_IF_FAILED(account.allocate(count * sizeof(T), stream, &memory));
        data_ = static_cast<T*>(memory);
        count_ = count;
        account_ = &account;
        stream_ = stream;
        return {};
    }

    // Allocates only where there is too little.
    Status reserve(MemoryAccount& account, uint64_t count, cudaStream_t stream) {
        return count <= count_ ? Status{} : allocate(account, count, stream);
    }

    void reset() {
        if (data_) account_->release(data_, count_ * sizeof(T), stream_);
        data_ = nullptr;
        count_ = 0;
    }

    T* data() const { return data_; }
    uint64_t size() const { return count_; }

  private:
    void swap(DeviceArray& other) {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        std::swap(account_, other.account_);
        std::swap(stream_, other.stream_);
    }

    T* data_ = nullptr;
    uint64_t count_ = 0;
    MemoryAccount* account_ = nullptr;
    cudaStream_t stream_ = nullptr;
};

}  // namespace gpujoin::cuda
