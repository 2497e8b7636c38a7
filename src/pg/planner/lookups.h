// Nested loops that look each outer row up in an index: the plans of core's that may beat a GPU Join though
// their costs say otherwise (see lookups.cpp).
#pragma once

#include "pg/planner/cost.h"
#include "pg/planner/join_pair.h"

namespace gpujoin {

// Whether core's nested loop over `outer` with an index of `inner` is likely to take less than a GPU Join on
// ranges of that estimate.
bool is_beaten_by_lookups(const JoinEstimate* estimate, const RelOptInfo* outer, const RelOptInfo* inner);

// Whether core's best plan for a pair, on whatever inputs, may look rows of the inner relation up that it
// would take some of the plan's time to read.
bool may_look_up(const JoinPair& pair);

}  // namespace gpujoin
