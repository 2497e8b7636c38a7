// Legacy baselines: joins of 4+4 B rows that lie on the device, as in He et al. 2008. All write their results
// in three phases: count the matches of every thread, scan the counts, allocate exactly and run again.
#pragma once

#include "join_run.h"
#include "legacy_primitives.cuh"

namespace gpujoin::bench::legacy {

// Row numbers of matching rows.
struct Pairs {
    DeviceArray<uint32_t> probe;
    DeviceArray<uint32_t> build;
};

// Is there a legacy join for the workload?
bool supports(const Workload& workload, Algorithm algorithm);

//   Hash        splits both sides by a hash of the key until a partition of the build side fits on the chip,
//               then compares all rows of partitions that belong together
//   SortMerge   sorts both sides by quicksort, then searches the bounds of every probe row
//   NestedLoop  compares every probe row with every build row, in tiles
// Inputs in device memory. Returns before the device has finished.
Pairs join(const Workload& workload, Algorithm algorithm, const Inputs& inputs);

}  // namespace gpujoin::bench::legacy
