// Nested loops that look each outer row up in an index: the one plan of core's that may beat a GPU Join on
// ranges.
#pragma once

#include "pg/planner/cost.h"

namespace gpujoin {

// Whether core's nested loop over `outer` with an index of `inner` is likely to take less than a GPU Join of
// that estimate, though its cost says otherwise: see lookups.cpp.
bool is_beaten_by_lookups(const JoinEstimate* estimate, const RelOptInfo* outer, const RelOptInfo* inner);

}  // namespace gpujoin
