// Sorted search, after Baxter's moderngpu: the probe batch is sorted too, and merged with the build side's
// keys along the merge path, in pieces of equal size however the two interleave. Where a probe key falls is
// where its candidates begin; they end close by.
#pragma once

#include <cstdint>

#include "cuda/lookup.h"

namespace gpujoin {

// As find_candidates(), for a lookup whose keys are sorted for merging.
Status find_by_merge(const WorkContext& context, const LookupView& lookup, const DeviceColumn* probe,
                     RequiredColumns required, uint64_t rows, Candidates* candidates);

}  // namespace gpujoin
