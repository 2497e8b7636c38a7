// The CUDA engine's front door, in plain C++: nothing of CUDA is needed to include it. Without a driver or a
// device the functions say why and do no harm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver_version.h"
#include "engine/engine.h"

namespace gpujoin {

// Makes the engine of one device (CUDA's number). device_memory: bytes that joins may take in all; 0 for four
// fifths of what is free now. Creates the device's context, memory pool and staging buffers, so that nothing
// of the kind has to be made while joins run. Fails with Fault::Error (58000) where the device cannot be
// used.
Status make_cuda_engine(int device, uint64_t device_memory, std::unique_ptr<Engine>* engine);

CudaVersions cuda_versions();

// The devices of this machine; state says "ready", or why one cannot be used. When there are none, why_none
// (may be null) says why. Creates no context on them.
std::vector<DeviceDescription> list_cuda_devices(std::string* why_none);

}  // namespace gpujoin
