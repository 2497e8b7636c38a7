// The pool of streams.
#include "cuda/work/stream.h"

#include <thread>

#include "cuda/work/timer.h"

namespace gpujoin::cuda {

namespace {

constexpr size_t kStreamsAtOnce = 16;
constexpr double kAwakeMilliseconds = 1;
constexpr double kYieldingMilliseconds = 10;

}  // namespace

// A batch is done before a thread could fall asleep and be woken, which takes up to a fifth of a millisecond.
// Beyond that others want the processor: they get it while something is on its way that is still worth
// waiting for awake, and have it all after that.
cudaError_t Stream::synchronize() {
    Timer timer;
    cudaError_t error;
    while ((error = cudaStreamQuery(handle)) == cudaErrorNotReady) {
        const double waited = timer.milliseconds();
        if (waited >= kYieldingMilliseconds) break;
        if (waited >= kAwakeMilliseconds) std::this_thread::yield();
    }
    if (error != cudaErrorNotReady) return error;
    error = cudaEventRecord(reached, handle);
    return error == cudaSuccess ? cudaEventSynchronize(reached) : error;
}

Stream::~Stream() {
    if (handle) cudaStreamDestroy(handle);
    if (reached) cudaEventDestroy(reached);
}

StreamPool::~StreamPool() {
    streams_.clear();
    for (uint64_t* mailboxes : mailboxes_) cudaFreeHost(mailboxes);
}

Status StreamPool::open() {
    std::lock_guard lock(mutex_);
    int& ordinary = levels_[static_cast<size_t>(Priority::Ordinary)];
    int& urgent = levels_[static_cast<size_t>(Priority::Urgent)];
    GPUJOIN_CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&ordinary, &urgent));
    GPUJOIN_RETURN_IF_FAILED(grow(Priority::Ordinary));
    return grow(Priority::Urgent);
}

Status StreamPool::grow(Priority priority) {
    int level = levels_[static_cast<size_t>(priority)];
    // Room for all that follows: giving streams back takes no memory.
    mailboxes_.reserve(mailboxes_.size() + 1);
    streams_.reserve(streams_.size() + kStreamsAtOnce);
    free(priority).reserve(streams_.size() + kStreamsAtOnce);
    uint64_t* mailboxes = nullptr;
    GPUJOIN_CHECK_CUDA(cudaMallocHost(reinterpret_cast<void**>(&mailboxes),
                                      kStreamsAtOnce * kMailboxWords * sizeof(uint64_t)));
    mailboxes_.push_back(mailboxes);
    for (size_t i = 0; i < kStreamsAtOnce; i++) {
        auto stream = std::make_unique<Stream>();
        stream->priority = priority;
        stream->mailbox = mailboxes + i * kMailboxWords;
        GPUJOIN_CHECK_CUDA(cudaStreamCreateWithPriority(&stream->handle, cudaStreamNonBlocking, level));
        GPUJOIN_CHECK_CUDA(
            cudaEventCreateWithFlags(&stream->reached, cudaEventBlockingSync | cudaEventDisableTiming));
        streams_.push_back(std::move(stream));
        free(priority).push_back(streams_.back().get());
    }
    return {};
}

Status StreamPool::acquire(Priority priority, Stream** stream) {
    std::lock_guard lock(mutex_);
    Streams& streams = free(priority);
    if (streams.empty()) GPUJOIN_RETURN_IF_FAILED(grow(priority));
    *stream = streams.back();
    streams.pop_back();
    return {};
}

void StreamPool::release(Stream* stream) noexcept {
    std::lock_guard lock(mutex_);
    free(stream->priority).push_back(stream);
}

}  // namespace gpujoin::cuda
