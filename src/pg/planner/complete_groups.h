// Paths of complete groups: where a serial node gives many groups, each of them once as a rule, core's
// Finalize Aggregate would look every group up in a table of its own, only to find that it is alone. A node
// above it takes the groups itself if they are complete (executor/complete_groups.cpp).
#pragma once

#include "pg/plan_data.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// What the groups are of core's.
struct FinalGroups {
    RelOptInfo* grouped;
    PathTarget* given;            // what comes of them
    PathTarget* target;           // their columns and aggregates, in the order of the partial groups' target
    List* clause;                 // of SortGroupClause
    List* having;                 // conditions, implicitly ANDed
    const AggClauseCosts* costs;  // of combining
    double count;
};

// A path above the first of these, which is core's node's: its rows, in their order, for its costs.
CustomPath* make_path_above(List* paths, const CustomPathMethods* methods);

// The node above core's, which is the first of these plans: what it passes on is found in that one's
// target list. Owns no conditions so far.
CustomScan* make_node_above(const CustomPath* path, AboveGroups does, List* tlist, List* custom_plans);

// Whether it is worth a node that so many groups come once.
bool are_many_groups(double count);

// input: of a GPU Aggregate for one process, which asks for complete groups.
Path* make_complete_groups_path(PlannerInfo* root, Path* input, const FinalGroups& groups);

}  // namespace gpujoin
