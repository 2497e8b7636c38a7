// What a piece of work on the device is given, and how it hears of a cancel and of the end of its turn.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "cuda/columns/columns.h"
#include "cuda/memory/memory.h"
#include "cuda/work/stream.h"
#include "cuda/memory/transfer.h"
#include "engine/guard.h"
#include "engine/turn.h"

namespace gpujoin::cuda {

// What work on the device needs; not owned.
struct WorkContext {
    MemoryAccount& account;
    Transfer& transfer;
    const StreamLease& stream;
    const std::atomic<bool>* cancel;

    cudaStream_t handle() const { return stream.handle(); }
    UploadContext upload() const { return {account, transfer, stream.handle()}; }
};

// Gives way where the turn is over. Fault::Cancelled once the flag is set; cancel may be null.
inline Status check_cancelled(const std::atomic<bool>* cancel) {
    give_way();
    if (!cancel || !cancel->load(std::memory_order_relaxed)) return {};
    return cancelled_status();
}

// Ends a step of long work: waits for what was queued, since a turn is to count the time that the device
// takes and nobody shall have more than a step on the device, and looks at turn and cancel flag.
inline Status end_step(const WorkContext& context) {
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    return check_cancelled(context.cancel);
}

// Reads a figure back that a kernel has written; waits for the stream.
template <typename T>
Status read_back(const WorkContext& context, const T* device, T* value) {
    static_assert(sizeof(T) <= kMailboxWords * sizeof(uint64_t));
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(context.stream.mailbox(), device, sizeof(T), cudaMemcpyDeviceToHost,
                                       context.handle()));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    *value = *reinterpret_cast<const T*>(context.stream.mailbox());
    return {};
}

// Uploads a small vector into an array of its own.
template <typename T>
Status upload_vector(const UploadContext& context, const std::vector<T>& values, DeviceArray<T>* array) {
    GPUJOIN_RETURN_IF_FAILED(array->allocate(context.account, values.size(), context.stream));
    return context.transfer.upload(context.stream, array->data(), values.data(), values.size() * sizeof(T),
                                   Memory::Host);
}

// The same by way of the stream's mailbox where it fits: batches on other streams, which take turns at the
// shared buffers, are not waited for. Nothing may be on its way to or from the mailbox.
template <typename T>
Status mail_vector(const WorkContext& context, const std::vector<T>& values, DeviceArray<T>* array) {
    uint64_t bytes = values.size() * sizeof(T);
    if (bytes == 0) return {};
    if (bytes > kMailboxWords * sizeof(uint64_t)) return upload_vector(context.upload(), values, array);
    GPUJOIN_RETURN_IF_FAILED(array->allocate(context.account, values.size(), context.handle()));
    memcpy(context.stream.mailbox(), values.data(), bytes);
    return context.transfer.upload(context.handle(), array->data(), context.stream.mailbox(), bytes,
                                   Memory::PinnedHost);
}

}  // namespace gpujoin::cuda
