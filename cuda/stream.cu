// The pool of streams.
#include "cuda/stream.h"

namespace gpujoin {

namespace {

constexpr size_t kStreamsAtOnce = 16;

}  // namespace

StreamPool::~StreamPool() {
    for (auto& stream : streams_) cudaStreamDestroy(stream->handle);
    for (uint64_t* mailboxes : mailboxes_) cudaFreeHost(mailboxes);
}

Status StreamPool::open() {
    std::lock_guard lock(mutex_);
    return grow();
}

Status StreamPool::grow() {
    uint64_t* mailboxes = nullptr;
    GPUJOIN_CHECK_CUDA(cudaMallocHost(reinterpret_cast<void**>(&mailboxes),
                                      kStreamsAtOnce * kMailboxWords * sizeof(uint64_t)));
    mailboxes_.push_back(mailboxes);
    for (size_t i = 0; i < kStreamsAtOnce; i++) {
        auto stream = std::make_unique<Stream>();
        stream->mailbox = mailboxes + i * kMailboxWords;
        GPUJOIN_CHECK_CUDA(cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking));
        free_.push_back(stream.get());
        streams_.push_back(std::move(stream));
    }
    return {};
}

Status StreamPool::acquire(Stream** stream) {
    std::lock_guard lock(mutex_);
    if (free_.empty()) GPUJOIN_RETURN_IF_FAILED(grow());
    *stream = free_.back();
    free_.pop_back();
    return {};
}

void StreamPool::release(Stream* stream) {
    std::lock_guard lock(mutex_);
    free_.push_back(stream);
}

}  // namespace gpujoin
