// The fragments among the benchmark's cases (W15 to W17).
#pragma once

#include <vector>

#include "fragment_workload.h"
#include "session.h"

namespace gpujoin::bench {

// The same workloads at a device's size and at the CPU engine's. They must outlive the benchmarks.
struct FragmentSizes {
    std::vector<FragmentWorkload> device;
    std::vector<FragmentWorkload> cpu;
};

void add_fragment_cases(Session& session, const FragmentSizes& workloads);

}  // namespace gpujoin::bench
