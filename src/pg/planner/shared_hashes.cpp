// See shared_hashes.h. Core gives a parallel hash join the workers of its probe side, and lets it pay for the
// build side what that costs each of the workers that it was planned for. Where a small table probes the
// result of a large one, the large one is read by one worker at the price of four. Any number of processes
// can share both sides, so that the join takes the larger number.
#include "pg/planner/shared_hashes.h"

#include "pg/planner/cost.h"
#include "pg/planner/path_facts.h"

extern "C" {
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

bool is_narrow(const Path* path) {
    if (!IsA(path, HashPath) || !path->parallel_aware) return false;
    const Path* build = reinterpret_cast<const HashPath*>(path)->jpath.innerjoinpath;
    return build->parallel_workers > path->parallel_workers && has_gpu_join(build);
}

}  // namespace

void widen_shared_hashes(RelOptInfo* joinrel) {
    ListCell* cell;
    foreach (cell, joinrel->partial_pathlist) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (!is_narrow(path)) continue;
        const int workers = reinterpret_cast<HashPath*>(path)->jpath.innerjoinpath->parallel_workers;
        path->rows = clamp_row_est(joinrel->rows / parallel_shares(workers));
        path->parallel_workers = workers;
    }
}

}  // namespace gpujoin
