// Samples of order keys on the host, by which the range terms that drive a search are chosen.
#pragma once

#include "cuda/work/work.h"
#include "engine/range_choice.h"

namespace gpujoin::cuda {

// A side whose columns lie on the device. columns: all of the side's, in host memory; not owned, like the
// context.
SampledSide sampled_side(const WorkContext& context, const DeviceColumn* columns, uint64_t rows);

}  // namespace gpujoin::cuda
