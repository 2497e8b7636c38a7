// See records.h.
#include "pg/planner/records.h"

#include "pg/compat.h"

extern "C" {
#include "catalog/pg_type.h"
}

namespace gpujoin {
namespace {

bool is_unnamed_record(const PlannerInfo* root, const Node* node) {
    if (!IsA(node, Var)) return false;
    auto* var = reinterpret_cast<const Var*>(node);
    if (var->vartype != RECORDOID || var->varno <= 0 || var->varno >= root->simple_rel_array_size)
        return false;
    RTEKind kind = root->simple_rte_array[var->varno]->rtekind;
    return kind == RTE_CTE || kind == RTE_SUBQUERY;
}

bool finds_unnamed_record(Node* node, void* root) {
    if (node == nullptr) return false;
    return is_unnamed_record(static_cast<PlannerInfo*>(root), node) ||
           walk_expression(node, finds_unnamed_record, root);
}

}  // namespace

bool has_unnamed_record(PlannerInfo* root, const RelOptInfo* rel) {
    return finds_unnamed_record(reinterpret_cast<Node*>(rel->reltarget->exprs), root);
}

}  // namespace gpujoin
