// Core's search for an order of joins, level by level, without the join relations of which none is in a plan
// that costs no more than the bound (search_bounds.h): costs grow on the way up. Core's own search looks at
// all of them, and joins each to all others.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Like standard_join_search(). nullptr: no order is left, where joins have to be in another one.
RelOptInfo* search_bounded_levels(PlannerInfo* root, int levels, List* rels);

}  // namespace gpujoin
