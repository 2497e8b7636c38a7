// Nested loops that read all of their inner side for each row of the outer one, where a hash join of the same
// two costs hardly more.
#pragma once

#include "pg/planner/join_pair.h"

namespace gpujoin {

// When a pair of relations has been tried: puts hash joins in the place of such loops of its relation.
void replace_blind_loops(const PlannerInfo* root, RelOptInfo* joinrel);

// The same for paths that were made of a pair of inputs as they are at present.
void replace_blind_loops(const JoinPair& pair);

}  // namespace gpujoin
