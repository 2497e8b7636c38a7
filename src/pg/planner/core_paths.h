// What core's planner would do without us. Once a path of ours has pushed core's out of a relation, what
// core would have built on those is not tried, and nobody knows what its plan would have cost. Where that is
// of interest, core's own paths of a join relation, and of those that it is made of, are made a second time,
// on core's own inputs. The pairs that they are made of are noted for that: it is seldom wanted, and takes as
// long as core's planning. Where core's own plan has been searched for before, they were made then.
#pragma once

#include "pg/planner/join_pair.h"
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

// When core has added its paths for a pair of relations: notes the pair, and makes core's own paths if they
// are wanted.
void note_pair(const JoinPair& pair);

// Whether paths of ours may be among its paths, or in them.
bool has_differing(const RelOptInfo* rel);

// In a search for core's own plan: notes copies of the paths that the relation has so far.
void note_found(const JoinPair& pair);

// Whether core has more pairs to try for the relation, as far as that is known from a search before.
bool has_more_pairs(PlannerInfo* root, const RelOptInfo* joinrel);

// After paths of ours were added to a relation, perhaps.
void note_ours(RelOptInfo* joinrel);

// From now on core's own paths of the relation are wanted, if others are in it.
void want_core_paths(RelOptInfo* joinrel);

// Puts those into the relation again that its present paths are not better than.
void restore_core_paths(RelOptInfo* joinrel);

// nullptr: those that the relation has, or they are not wanted.
const CorePaths* core_paths_of(const RelOptInfo* joinrel);

}  // namespace gpujoin
