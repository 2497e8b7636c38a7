// gpujoin.force: of the paths of a join relation, ours alone are kept where there are any, at the costs that
// they have, so that orders of joins compare as ever. Core adds paths for one pair of relations after
// another, before the hook is called for that pair; those that are cheaper than ours push them out (and free
// them). So ours are kept aside, and put back after each pair. Where core's cost a thousandth, and have a GPU
// Join below, they stay: else all tables might be multiplied with each other for the sake of one more join.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct ForcedPaths;

// Whether it costs more than a thousand times as much as the cheapest of the paths that have a GPU Join.
bool is_far_dearer(Cost cost, const List* paths);

// Before a pair's paths of ours are added to a join relation: leaves those of ours in it that were added for
// other pairs.
ForcedPaths* take_forced_paths(RelOptInfo* joinrel);

// After that: core's paths stay where there are none of ours, or only much dearer ones.
void keep_forced_paths(ForcedPaths* forced);

}  // namespace gpujoin
