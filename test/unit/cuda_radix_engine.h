// The CUDA engine as it is on a device with hardly any cache, where it partitions a build side from its first
// row on, if the join can be done by partitions.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace gpujoin::test {

// Fails where there is no device.
Status make_cuda_radix_engine(std::unique_ptr<Engine>* engine);

}  // namespace gpujoin::test
