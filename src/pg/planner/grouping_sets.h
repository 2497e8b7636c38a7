// GROUPING SETS, CUBE and ROLLUP: the engine makes the groups of all columns that any of the sets has, and
// core's node makes those of each set of them, of partial groups as it would of rows. PostgreSQL plans no
// partial aggregation for grouping sets itself, though its executor can combine for several sets as well as
// for one: what has been found out about the sets is taken from core's own path.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Whether this major's partial groups can be grouped by sets.
bool can_combine_sets();

// Whether a node above that for the sets can pass on what it gives, which is the target, grouped by these
// clauses.
bool can_pass_on_sets(const PathTarget* target, const List* keys);

// Core's path of the least cost that groups by sets, in a copy that outlives it: other paths may take its
// place. nullptr: there is none.
const GroupingSetsPath* cheapest_sets_path(const RelOptInfo* grouped);

// The same of partial groups. costs: of combining.
Path* make_sets_path(PlannerInfo* root, const GroupingSetsPath* model, Path* partial,
                     const AggClauseCosts* costs);

}  // namespace gpujoin
