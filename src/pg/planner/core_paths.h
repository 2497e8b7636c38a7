// What core's planner would do without us. Once a path of ours has pushed core's out of a relation, what
// core would have built on those is not tried, and nobody knows what its plan would have cost. So of each
// join relation that has, or contains, paths of ours core's own are made a second time, on core's own inputs.
#pragma once

#include "pg/planner/relation_notes.h"

namespace gpujoin {

// In place of the fields of the same names of a relation (RelOptInfo).
struct CorePaths {
    List* pathlist;
    List* partial_pathlist;
    Path* cheapest_startup_path;
    Path* cheapest_total_path;
    Path* cheapest_unique_path;
    List* cheapest_parameterized_paths;
    bool is_complete;  // the relation's paths have all been added, and the cheapest are known
};

// Whether the hook is called for core's own paths, which ours are to keep out of.
bool are_core_paths_made();

// What the hook is called with.
struct JoinPair {
    PlannerInfo* root;
    RelOptInfo* joinrel;
    RelOptInfo* outer;
    RelOptInfo* inner;
    JoinType jointype;
    JoinPathExtraData* extra;
};

// When core has added its paths for a pair of relations: makes them on core's own inputs, too.
void follow_core_paths(const JoinPair& pair);

// Adds the paths that core makes on a pair's inputs, whatever they are, to these instead of the relation's.
void make_core_paths(const JoinPair& pair, CorePaths* paths);

// Before paths of ours are added to a relation that so far has core's alone; and after, if some were.
// nullptr: it is not such a relation.
CorePaths* copy_core_paths(const RelOptInfo* joinrel);
void keep_core_paths(const PlannerInfo* root, RelOptInfo* joinrel, CorePaths* paths);

// Puts those into the relation again that its present paths are not better than.
void restore_core_paths(RelOptInfo* joinrel);

// nullptr: those that the relation has.
const CorePaths* core_paths_of(const RelOptInfo* joinrel);

}  // namespace gpujoin
