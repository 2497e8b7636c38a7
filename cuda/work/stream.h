// Streams, each with a small mailbox in pinned host memory for figures that kernels report back. Borrowed
// from a pool and never destroyed while the engine lives: making and destroying them costs and synchronises.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/work/check.h"
#include "wire/join_spec.h"

namespace gpujoin::cuda {

// Enough for one figure a column and a few more.
inline constexpr uint64_t kMailboxWords = kMaxColumns + 64;

// Where the device has work of several streams, it begins with that of urgent ones.
enum class Priority : uint8_t { Ordinary, Urgent, kPriorities };

struct Stream {
    Stream() = default;
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Priority priority = Priority::Ordinary;
    cudaStream_t handle = nullptr;
    cudaEvent_t reached = nullptr;  // for those who wait asleep
    uint64_t* mailbox = nullptr;    // kMailboxWords in pinned memory

    // Waits for what was queued.
    cudaError_t synchronize();
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
    Status acquire(Priority priority, Stream** stream);
    void release(Stream* stream) noexcept;

  private:
    using Streams = std::vector<Stream*>;
    Streams& free(Priority priority) { return free_[static_cast<size_t>(priority)]; }
    Status grow(Priority priority);

    std::mutex mutex_;
    int levels_[static_cast<size_t>(Priority::kPriorities)] = {};  // the device's names of priorities
    std::vector<std::unique_ptr<Stream>> streams_;
    Streams free_[static_cast<size_t>(Priority::kPriorities)];
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

    Status acquire(StreamPool* pool, Priority priority = Priority::Ordinary) {
        pool_ = pool;
        return pool->acquire(priority, &stream_);
    }
    void reset() {
        if (!stream_) return;
        stream_->synchronize();
        pool_->release(stream_);
        stream_ = nullptr;
    }

    cudaStream_t handle() const { return stream_->handle; }
    uint64_t* mailbox() const { return stream_->mailbox; }
    Status synchronize() const { return cuda_status(stream_->synchronize(), "synchronizing a stream"); }

  private:
    StreamPool* pool_ = nullptr;
    Stream* stream_ = nullptr;
};

}  // namespace gpujoin::cuda
