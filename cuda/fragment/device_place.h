// The place of fragments whose rows lie in device memory from the source to the groups, or to the client.
#pragma once

#include <memory>

#include "cuda/device.h"
#include "engine/fragment/place.h"

namespace gpujoin::cuda {

// The device outlives it, and so does what the limits point to.
std::unique_ptr<FragmentPlace> make_device_place(Device* device, const Limits& limits);

}  // namespace gpujoin::cuda
