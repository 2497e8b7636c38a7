// Streams, each with a small mailbox in pinned host memory for figures that kernels report back. Borrowed
// from a pool and never destroyed while the engine lives: making and destroying them costs and synchronises.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/check.h"
#include "wire/join_spec.h"

namespace gpujoin {

// Enough for one figure a column and a few more.
inline constexpr uint64_t kMailboxWords = kMaxColumns + 64;

struct Stream {
    cudaStream_t handle = nullptr;
    uint64_t* mailbox = nullptr;  // kMailboxWords in pinned memory
};

class StreamPool {
  public:
    StreamPool() = default;
    ~StreamPool();
    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;

    // Makes the first streams.
    Status open();
    // The stream stays the pool's; give it back with release(). Thread-safe.
    Status acquire(Stream** stream);
    void release(Stream* stream);

  private:
    Status grow();

    std::mutex mutex_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<Stream*> free_;
    std::vector<uint64_t*> mailboxes_;
};

// A borrowed stream. Waits for its work before it goes back, so that what the work used may be freed.
class StreamLease {
  public:
    StreamLease() = default;
    ~StreamLease() { reset(); }
    StreamLease(StreamLease&& other) noexcept : pool_(other.pool_), stream_(other.stream_) {
        other.stream_ = nullptr;
    }
    StreamLease& operator=(StreamLease&&) = delete;

    Status acquire(StreamPool* pool) {
        pool_ = pool;
        return pool->acquire(&stream_);
    }
    void reset() {
        if (!stream_) return;
        cudaStreamSynchronize(stream_->handle);
        pool_->release(stream_);
        stream_ = nullptr;
    }

    cudaStream_t handle() const { return stream_->handle; }
    uint64_t* mailbox() const { return stream_->mailbox; }
    Status synchronize() const {
        GPUJOIN_CHECK_CUDA(cudaStreamSynchronize(stream_->handle));
        return {};
    }

  private:
    StreamPool* pool_ = nullptr;
    Stream* stream_ = nullptr;
};

}  // namespace gpujoin
