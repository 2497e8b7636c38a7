// The joins among the benchmark's cases: every workload with every engine, algorithm and transport it is for.
#pragma once

#include <vector>

#include "session.h"
#include "workload.h"

namespace gpujoin::bench {

// The same workloads at three sizes: a device's, the CPU engine's, and the CPU engine's for nested loops,
// which compare all pairs. They must outlive the benchmarks.
struct WorkloadSizes {
    std::vector<Workload> device;
    std::vector<Workload> cpu;
    std::vector<Workload> cpu_pairs;
};

void add_join_cases(Session& session, const WorkloadSizes& workloads);

}  // namespace gpujoin::bench
