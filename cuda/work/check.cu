// Classification of CUDA errors.
#include "cuda/work/check.h"

namespace gpujoin::cuda {

namespace {

// Errors that stay: every later call in this process fails in the same way.
bool poisons_context(cudaError_t error) {
    switch (error) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorAssert:
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorContextIsDestroyed:
        case cudaErrorDeviceUninitialized:
        case cudaErrorMpsClientTerminated:
        case cudaErrorExternalDevice:
        case cudaErrorCudartUnloading:
        case cudaErrorTensorMemoryLeak:
        case cudaErrorUnknown:
            return true;
        default:
            return false;
    }
}

}  // namespace

Status cuda_status(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return {};
    cudaGetLastError();  // an error that does not stay must not be found again by the next call
    if (error == cudaErrorMemoryAllocation)
        return failure(Fault::DeviceMemory, "53200", "out of device memory")
            .with_detail("The call was %s.", what);
    Fault fault = poisons_context(error) ? Fault::DeviceLost : Fault::Error;
    return failure(fault, "58000", "CUDA error: %s", cudaGetErrorString(error))
        .with_detail("The call was %s.", what);
}

}  // namespace gpujoin::cuda
