// See test_order.h.
#include "pg/planner/test_order.h"

#include "pg/allocate.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {
namespace {

struct Rank {
    Index security_level;
    Cost cost;
};

bool comes_before(const Rank& one, const Rank& other) {
    if (one.security_level != other.security_level) return one.security_level < other.security_level;
    return one.cost < other.cost;
}

// What leaks nothing may come early wherever it is from, unless that would be at the expense of cheaper ones.
Rank rank_of(PlannerInfo* root, RestrictInfo* condition) {
    QualCost cost;
    cost_qual_eval_node(&cost, reinterpret_cast<Node*>(condition), root);
    bool may_overtake = condition->leakproof && cost.per_tuple < 10 * cpu_operator_cost;
    return {may_overtake ? 0 : condition->security_level, cost.per_tuple};
}

}  // namespace

List* in_test_order(PlannerInfo* root, const List* conditions) {
    if (list_length(conditions) <= 1) return list_copy(conditions);
    auto* ranks = unset<Rank>(list_length(conditions));
    List* ordered = NIL;
    ListCell* cell;
    foreach (cell, conditions) {
        Rank rank = rank_of(root, lfirst_node(RestrictInfo, cell));
        int place = list_length(ordered);
        for (; place > 0 && comes_before(rank, ranks[place - 1]); place--) ranks[place] = ranks[place - 1];
        ranks[place] = rank;
        ordered = list_insert_nth(ordered, place, lfirst(cell));
    }
    pfree(ranks);
    return ordered;
}

}  // namespace gpujoin
