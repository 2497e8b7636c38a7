// count(DISTINCT x): the engine groups by x, too, so that each of a group's values comes once, with 1 as what
// it adds to their number, and core's Finalize Aggregate adds these up beside the other aggregates' states.
// That holds only where groups are complete; otherwise core's own plan is run, which is there beside it
// (executor/complete_groups.cpp).
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct DistinctCount {
    Expr* value;                    // whose distinct values are counted
    const SortGroupClause* clause;  // by which it is grouped, besides the query's
};

// What the aggregates with DISTINCT among these expressions count, if it is the same value for all of them,
// and none that is grouped by. nullptr: there are none, or they are others.
const DistinctCount* find_distinct_count(const PlannerInfo* root, List* target, Node* having);

bool is_distinct_count(const Node* expression);
// What counts values that come once.
Aggref* count_of_values(const Aggref* distinct);

// Whether paths of what is grouped may be planned for core's own plan beside ours: subqueries, foreign scans
// and other extensions' nodes are not made for being planned twice.
bool can_be_planned_twice(const PlannerInfo* root, const RelOptInfo* input);

// The cheapest of core's paths for the groups, as a copy; nullptr: there is none.
AggPath* cheapest_own_path(const RelOptInfo* grouped);

// combining: core's Finalize Aggregate over a GPU Aggregate that asks for complete groups. core: what is run
// where they are not.
Path* make_distinct_path(AggPath* combining, AggPath* core);

}  // namespace gpujoin
