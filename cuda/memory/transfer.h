// Copies between host and device. Pinned and device memory is copied by the copy engine directly; other host
// memory goes through the engine's own pinned buffers, half a buffer ahead of the copy engine.
#pragma once

#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/work/check.h"
#include "wire/batch.h"

namespace gpujoin::cuda {

// A pinned buffer in two halves; an event a half says when the copy engine has finished with it.
struct BounceBuffer {
    std::byte* half[2] = {};
    cudaEvent_t copied[2] = {};
};

class Transfer {
  public:
    Transfer() = default;
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    Status open();

    // Copies `bytes` to the device, in the stream's order. Memory::Host may be reused at once; pinned and
    // device memory only after the stream was waited for.
    Status upload(cudaStream_t stream, void* device, const void* source, uint64_t bytes, Memory kind);

    // Copies `bytes` from the device, in the stream's order: complete on return for Memory::Host, otherwise
    // after the stream was waited for.
    Status download(cudaStream_t stream, void* target, const void* device, uint64_t bytes, Memory kind);

  private:
    class Borrowed;
    BounceBuffer* borrow();
    void give_back(BounceBuffer* buffer);

    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<BounceBuffer>> buffers_;
    std::vector<BounceBuffer*> free_;
    void* memory_ = nullptr;
};

}  // namespace gpujoin::cuda
