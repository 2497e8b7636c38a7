// See core_calls.h.
#include "pg/planner/core_calls.h"

#include "pg/compat.h"

extern "C" {
#include "optimizer/paths.h"
}

namespace gpujoin {
namespace {

bool is_made_for_core;

}  // namespace

bool are_core_paths_made() {
    return is_made_for_core;
}

JoinRelations set_join_relations_aside(PlannerInfo* root) {
    const JoinRelations relations = {list_length(root->join_rel_list), root->join_rel_hash};
    root->join_rel_hash = nullptr;
    return relations;
}

void restore_join_relations(PlannerInfo* root, const JoinRelations& relations) {
    root->join_rel_list = list_truncate(root->join_rel_list, relations.count);
    root->join_rel_hash = relations.hash;
}

void call_as_core(void (*call)(void* argument), void* argument) {
    is_made_for_core = true;
    PG_TRY();
    { call(argument); }
    PG_FINALLY();
    { is_made_for_core = false; }
    PG_END_TRY();
}

void add_core_paths(const JoinPair& pair) {
    const auto add = [](void* argument) {
        const auto* tried = static_cast<const JoinPair*>(argument);
        add_paths_to_joinrel(tried->root, tried->joinrel, tried->outer, tried->inner, tried->jointype,
                             tried->sjinfo, tried->restrictlist);
    };
    JoinPair copy = pair;
    call_as_core(add, &copy);
}

}  // namespace gpujoin
