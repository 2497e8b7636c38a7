// What a kernel with dynamic shared memory needs before it is launched.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/work/check.h"

namespace gpujoin::cuda {

// How many bytes of shared memory the device can give a block.
inline Status find_shared_memory(uint64_t* bytes) {
    int device = 0, found = 0;
    GPUJOIN_CHECK_CUDA(cudaGetDevice(&device));
    GPUJOIN_CHECK_CUDA(cudaDeviceGetAttribute(&found, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    *bytes = static_cast<uint64_t>(found);
    return {};
}

// Lets blocks of a kernel have as much shared memory as the device can give them. It is always as much, since
// the limit is the kernel's, not the launch's: other joins may be about to launch it.
template <typename Kernel>
Status allow_shared_memory(Kernel kernel) {
    uint64_t bytes = 0;
    cudaFuncAttributes attributes;
    GPUJOIN_RETURN_IF_FAILED(find_shared_memory(&bytes));
    GPUJOIN_CHECK_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    GPUJOIN_CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(bytes - attributes.sharedSizeBytes)));
    return {};
}

// The same; *blocks: how many the device holds at a time if each takes so many bytes, at least 1.
template <typename Kernel>
Status find_resident_blocks(Kernel kernel, uint32_t threads, size_t shared_bytes, uint32_t* blocks) {
    GPUJOIN_RETURN_IF_FAILED(allow_shared_memory(kernel));
    int device = 0, processors = 0, each = 0;
    GPUJOIN_CHECK_CUDA(cudaGetDevice(&device));
    GPUJOIN_CHECK_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    GPUJOIN_CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, static_cast<int>(threads),
                                                                     shared_bytes));
    *blocks = static_cast<uint32_t>(std::max(1, processors * each));
    return {};
}

}  // namespace gpujoin::cuda
