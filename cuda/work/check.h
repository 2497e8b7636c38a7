// Every CUDA call goes through GPUJOIN_CHECK_CUDA, which returns a failed Status from the calling function.
#pragma once

#include <cuda_runtime.h>

#include "fault/fault.h"
#include "wire/status.h"

namespace gpujoin::cuda {

// Success, or a failed Status: no room on the device is Fault::DeviceMemory (53200), an error after which the
// context cannot be used Fault::DeviceLost (58000), anything else Fault::Error (58000). `what` is the call.
Status cuda_status(cudaError_t error, const char* what);

}  // namespace gpujoin::cuda

#define GPUJOIN_CHECK_CUDA(call) GPUJOIN_RETURN_IF_FAILED(::gpujoin::cuda::cuda_status((call), #call))
