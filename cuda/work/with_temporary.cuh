// Calls of CUB's device-wide algorithms, which take their temporary memory from the join's account.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "cuda/memory/memory.h"

namespace gpujoin::cuda {

// CUB's two phases: asks how much temporary memory algorithm(memory, bytes) wants, then runs it.
template <typename Algorithm>
Status with_temporary(MemoryAccount& account, cudaStream_t stream, const Algorithm& algorithm) {
    size_t bytes = 0;
    GPUJOIN_CHECK_CUDA(algorithm(nullptr, bytes));
    DeviceArray<std::byte> temporary;
    GPUJOIN_RETURN_IF_FAILED(temporary.allocate(account, bytes ? bytes : 1, stream));
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    GPUJOIN_CHECK_CUDA(algorithm(temporary.data(), bytes));
    return {};
}

}  // namespace gpujoin::cuda
