// See core_calls.h.
#include "pg/planner/core_calls.h"

#include <utility>

#include "pg/compat.h"

extern "C" {
#include "optimizer/pathnode.h"
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
    return {list_copy(root->join_rel_list), root->join_rel_hash};
}

void restore_join_relations(PlannerInfo* root, const JoinRelations& relations) {
    root->join_rel_list = list_copy(relations.list);
    root->join_rel_hash = relations.hash;
}

RelOptInfo* find_join_relation(PlannerInfo* root, JoinRelations* relations, Relids relids) {
    std::swap(root->join_rel_list, relations->list);
    std::swap(root->join_rel_hash, relations->hash);
    RelOptInfo* found = find_join_rel(root, relids);
    std::swap(root->join_rel_list, relations->list);
    std::swap(root->join_rel_hash, relations->hash);
    return found;
}

void add_core_paths(const JoinPair& pair) {
    const PlannerInfo* const before = made_for;
    made_for = pair.root;
    PG_TRY();
    {
        add_paths_to_joinrel(pair.root, pair.joinrel, pair.outer, pair.inner, pair.jointype, pair.sjinfo,
                             pair.restrictlist);
    }
    PG_FINALLY();
    { made_for = before; }
    PG_END_TRY();
}

SpecialJoinInfo inner_join_of(Relids outer, Relids inner) {
    SpecialJoinInfo join = {};
    join.type = T_SpecialJoinInfo;
    join.jointype = JOIN_INNER;
    join.min_lefthand = join.syn_lefthand = outer;
    join.min_righthand = join.syn_righthand = inner;
    return join;
}

}  // namespace gpujoin
