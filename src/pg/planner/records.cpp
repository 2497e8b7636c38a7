// See records.h.
#include "pg/planner/records.h"

#include "pg/compat.h"

extern "C" {
#include "catalog/pg_type.h"
}

namespace gpujoin {
namespace {

bool is_computed_below(const PlannerInfo* root, int relid) {
    const RangeTblEntry* entry = root->simple_rte_array[relid];
    return entry && (entry->rtekind == RTE_CTE || entry->rtekind == RTE_SUBQUERY);
}

bool is_unnamed_record(const PlannerInfo* root, const Node* node) {
    if (!IsA(node, Var)) return false;
    const auto* var = reinterpret_cast<const Var*>(node);
    return var->vartype == RECORDOID && var->varno > 0 && var->varno < root->simple_rel_array_size &&
           is_computed_below(root, static_cast<int>(var->varno));
}

// Told from the range table, which takes a small part of the time that looking at the columns does.
bool may_have_unnamed_record(const PlannerInfo* root, const RelOptInfo* rel) {
    for (int relid = -1; (relid = bms_next_member(rel->relids, relid)) >= 0;)
        if (is_computed_below(root, relid)) return true;
    return false;
}

bool finds_unnamed_record(Node* node, void* root) {
    if (node == nullptr) return false;
    return is_unnamed_record(static_cast<PlannerInfo*>(root), node) ||
           walk_expression(node, finds_unnamed_record, root);
}

}  // namespace

bool has_unnamed_record(PlannerInfo* root, const RelOptInfo* rel) {
    return may_have_unnamed_record(root, rel) &&
           finds_unnamed_record(reinterpret_cast<Node*>(rel->reltarget->exprs), root);
}

}  // namespace gpujoin
