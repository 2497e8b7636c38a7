// Calls of core's planner that our hook keeps out of: for pairs of relations that it has tried before, or is
// going to try.
#pragma once

#include "pg/planner/join_pair.h"

namespace gpujoin {

// Whether the hook is called for core's own paths of that query, which ours are to keep out of.
bool are_core_paths_made(const PlannerInfo* root);

// The join relations that searches for an order of joins have made, and find again. A search that is not to
// find them begins with none in the hash table; they are restored after it.
struct JoinRelations {
    int count;
    HTAB* hash;
};

JoinRelations join_relations_of(const PlannerInfo* root);
void restore_join_relations(PlannerInfo* root, const JoinRelations& relations);

// Calls the function as if we were not there.
void call_as_core(const PlannerInfo* root, void (*call)(void* argument), void* argument);

// Adds the paths that core makes on a pair's inputs, whatever they are, a second time.
void add_core_paths(const JoinPair& pair);

}  // namespace gpujoin
