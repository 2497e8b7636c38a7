// Nested loops that look each outer row up in an index: the plans of core's that may beat a GPU Join though
// their costs say otherwise (see lookups.cpp).
#pragma once

#include "pg/planner/cost.h"

namespace gpujoin {

// Whether core's nested loop over `outer` with an index of `inner` is likely to take less than a GPU Join on
// ranges of that estimate.
bool is_beaten_by_lookups(const JoinEstimate* estimate, const RelOptInfo* outer, const RelOptInfo* inner);

// Whether a side of a join reads all rows of a table of which core would rather look up the few that the join
// needs, or a part of it.
bool reads_what_core_looks_up(PlannerInfo* root, RelOptInfo* joinrel, const RelOptInfo* side);

// Takes paths out of a relation that read all of such a table for a GPU Join, or for core's joins above one,
// where there is a path that looks its rows up.
void leave_to_lookups(PlannerInfo* root, RelOptInfo* joinrel);

}  // namespace gpujoin
