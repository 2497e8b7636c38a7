// See planned_loops.h.
#include "pg/planner/planned_loops.h"

#include "pg/planner/planned_joins.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

bool has_hashable_equality(const List* conditions) {
    ListCell* cell;
    foreach (cell, conditions) {
        const auto* operation = static_cast<const OpExpr*>(lfirst(cell));
        if (IsA(operation, OpExpr) && list_length(operation->args) == 2 &&
            op_hashjoinable(operation->opno, exprType(static_cast<Node*>(linitial(operation->args)))))
            return true;
    }
    return false;
}

bool is_blind_loop(const Plan* plan) {
    if (!IsA(plan, NestLoop) || plan->total_cost < kLeastBlindLoop) return false;
    return reinterpret_cast<const NestLoop*>(plan)->nestParams == NIL &&
           has_hashable_equality(reinterpret_cast<const Join*>(plan)->joinqual);
}

}  // namespace

bool has_blind_loop(const PlannedStmt* statement) {
    return has_node(statement, is_blind_loop);
}

}  // namespace gpujoin
