// Copies between host and device.
#include "cuda/memory/transfer.h"

#include <algorithm>
#include <cstring>

namespace gpujoin::cuda {

namespace {

constexpr size_t kBuffers = 4;
constexpr uint64_t kHalfBytes = 2 << 20;

Status copy_async(cudaStream_t stream, void* target, const void* source, uint64_t bytes) {
    if (fault_due(FaultPoint::Copy)) return cuda_status(cudaErrorInvalidValue, "cudaMemcpyAsync");
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream));
    return {};
}

}  // namespace

// A bounce buffer for as long as one copy takes.
class Transfer::Borrowed {
  public:
    explicit Borrowed(Transfer* owner) : owner_(owner), buffer_(owner->borrow()) {}
    ~Borrowed() { owner_->give_back(buffer_); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    BounceBuffer* operator->() const { return buffer_; }

  private:
    Transfer* owner_;
    BounceBuffer* buffer_;
};

Transfer::~Transfer() {
    for (auto& buffer : buffers_) {
        for (cudaEvent_t event : buffer->copied) {
            if (event) cudaEventDestroy(event);
        }
    }
    if (memory_) cudaFreeHost(memory_);
}

Status Transfer::open() {
    GPUJOIN_CHECK_CUDA(cudaMallocHost(&memory_, kBuffers * 2 * kHalfBytes));
    auto* next = static_cast<std::byte*>(memory_);
    for (size_t i = 0; i < kBuffers; i++) {
        buffers_.push_back(std::make_unique<BounceBuffer>());
        for (int h = 0; h < 2; h++, next += kHalfBytes) {
            buffers_.back()->half[h] = next;
            GPUJOIN_CHECK_CUDA(cudaEventCreateWithFlags(&buffers_.back()->copied[h], cudaEventDisableTiming));
        }
        free_.push_back(buffers_.back().get());
    }
    return {};
}

BounceBuffer* Transfer::borrow() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return !free_.empty(); });
    BounceBuffer* buffer = free_.back();
    free_.pop_back();
    return buffer;
}

void Transfer::give_back(BounceBuffer* buffer) {
    {
        std::lock_guard lock(mutex_);
        free_.push_back(buffer);
    }
    returned_.notify_one();
}

Status Transfer::upload(cudaStream_t stream, void* device, const void* source, uint64_t bytes, Memory kind) {
    if (bytes == 0) return {};
    if (kind != Memory::Host) return copy_async(stream, device, source, bytes);
    Borrowed bounce(this);
    for (uint64_t done = 0, h = 0; done < bytes; done += kHalfBytes, h ^= 1) {
        uint64_t piece = std::min(kHalfBytes, bytes - done);
        GPUJOIN_CHECK_CUDA(cudaEventSynchronize(bounce->copied[h]));
        memcpy(bounce->half[h], static_cast<const std::byte*>(source) + done, piece);
        GPUJOIN_RETURN_IF_FAILED(
            copy_async(stream, static_cast<std::byte*>(device) + done, bounce->half[h], piece));
        GPUJOIN_CHECK_CUDA(cudaEventRecord(bounce->copied[h], stream));
    }
    return {};
}

Status Transfer::download(cudaStream_t stream, void* target, const void* device, uint64_t bytes,
                          Memory kind) {
    if (bytes == 0) return {};
    if (kind != Memory::Host) return copy_async(stream, target, device, bytes);
    Borrowed bounce(this);
    for (cudaEvent_t event : bounce->copied) GPUJOIN_CHECK_CUDA(cudaEventSynchronize(event));
    uint64_t pieces = (bytes + kHalfBytes - 1) / kHalfBytes;
    auto size_of = [bytes](uint64_t piece) { return std::min(kHalfBytes, bytes - piece * kHalfBytes); };
    for (uint64_t i = 0; i <= pieces; i++) {
        if (i < pieces) {
            GPUJOIN_RETURN_IF_FAILED(copy_async(stream, bounce->half[i & 1],
                                                static_cast<const std::byte*>(device) + i * kHalfBytes,
                                                size_of(i)));
            GPUJOIN_CHECK_CUDA(cudaEventRecord(bounce->copied[i & 1], stream));
        }
        if (i > 0) {
            GPUJOIN_CHECK_CUDA(cudaEventSynchronize(bounce->copied[(i - 1) & 1]));
            memcpy(static_cast<std::byte*>(target) + (i - 1) * kHalfBytes, bounce->half[(i - 1) & 1],
                   size_of(i - 1));
        }
    }
    return {};
}

}  // namespace gpujoin::cuda
