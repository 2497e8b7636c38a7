// The benchmark without a CUDA compiler.
#ifndef GPUJOIN_CUDA

#include "device.h"

namespace gpujoin::bench {

std::unique_ptr<Device> open_device(int, std::string* why_not) {
    *why_not = "built without the CUDA engine";
    return nullptr;
}

}  // namespace gpujoin::bench

#endif
