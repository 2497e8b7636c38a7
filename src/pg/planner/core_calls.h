// Calls of core's planner that our hook keeps out of: for pairs of relations that it has tried before, or is
// going to try.
#pragma once

#include "pg/planner/join_pair.h"

namespace gpujoin {

// Whether the hook is called for core's own paths, which ours are to keep out of.
bool are_core_paths_made();

// The join relations that a search for an order of joins has made, and will find again. What is searched for
// while they are set aside makes its own.
struct JoinRelations {
    int count;
    HTAB* hash;
};

JoinRelations set_join_relations_aside(PlannerInfo* root);
void restore_join_relations(PlannerInfo* root, const JoinRelations& relations);

// Calls the function as if we were not there.
void call_as_core(void (*call)(void* argument), void* argument);

// Adds the paths that core makes on a pair's inputs, whatever they are, a second time.
void add_core_paths(const JoinPair& pair);

}  // namespace gpujoin
