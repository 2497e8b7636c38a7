// See core_calls.h.
#include "pg/planner/core_calls.h"

#include "pg/compat.h"

extern "C" {
#include "optimizer/paths.h"
}

namespace gpujoin {
namespace {

// Whose joins these are; nullptr: nobody's. Functions that are evaluated meanwhile plan queries of their own.
const PlannerInfo* made_for;

}  // namespace

bool are_core_paths_made(const PlannerInfo* root) {
    return made_for == root;
}

JoinRelations join_relations_of(const PlannerInfo* root) {
    return {list_length(root->join_rel_list), root->join_rel_hash};
}

void restore_join_relations(PlannerInfo* root, const JoinRelations& relations) {
    root->join_rel_list = list_truncate(root->join_rel_list, relations.count);
    root->join_rel_hash = relations.hash;
}

void call_as_core(const PlannerInfo* root, void (*call)(void* argument), void* argument) {
    const PlannerInfo* const before = made_for;
    made_for = root;
    PG_TRY();
    { call(argument); }
    PG_FINALLY();
    { made_for = before; }
    PG_END_TRY();
}

void add_core_paths(const JoinPair& pair) {
    const auto add = [](void* argument) {
        const auto* tried = static_cast<const JoinPair*>(argument);
        add_paths_to_joinrel(tried->root, tried->joinrel, tried->outer, tried->inner, tried->jointype,
                             tried->sjinfo, tried->restrictlist);
    };
    JoinPair copy = pair;
    call_as_core(pair.root, add, &copy);
}

}  // namespace gpujoin
