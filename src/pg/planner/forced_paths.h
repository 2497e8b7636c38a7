// gpujoin.force: of the paths of a join relation, ours alone are kept where there are any, at the costs that
// they have, so that orders of joins compare as ever. Core adds paths for one pair of relations after
// another, before the hook is called for that pair; those that are cheaper than ours push them out (and free
// them). So ours are kept aside, and put back after each pair.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct ForcedPaths;

// Before a pair's paths of ours are added to a join relation: leaves those of ours in it that were added for
// other pairs.
ForcedPaths* take_forced_paths(RelOptInfo* joinrel);

// After that: core's paths stay where there are none of ours.
void keep_forced_paths(ForcedPaths* forced);

}  // namespace gpujoin
