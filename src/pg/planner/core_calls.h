// Calls of core's planner for pairs of relations that it has tried before, which our hook keeps out of, and
// what its searches leave behind.
#pragma once

#include "pg/planner/join_pair.h"

namespace gpujoin {

// Whether the hook is called for core's own paths of that query, which ours are to keep out of.
bool are_core_paths_made(const PlannerInfo* root);

// The join relations that searches for an order of joins have made, and find again. A search that is not to
// find them begins with none in the hash table; they are restored after it.
struct JoinRelations {
    List* list;
    HTAB* hash;
};

JoinRelations join_relations_of(const PlannerInfo* root);
void restore_join_relations(PlannerInfo* root, const JoinRelations& relations);
// nullptr: there is none of these.
RelOptInfo* find_join_relation(PlannerInfo* root, JoinRelations* relations, Relids relids);

// Adds the paths that core makes on a pair's inputs, whatever they are, a second time.
void add_core_paths(const JoinPair& pair);

// For core's estimates: an inner join of these relations.
SpecialJoinInfo inner_join_of(Relids outer, Relids inner);

}  // namespace gpujoin
