// See recursion.h.
#include "pg/planner/recursion.h"

#include "pg/compat.h"

namespace gpujoin {
namespace {

bool is_in_recursive_term(const PlannerInfo* root) {
    while (root && !root->non_recursive_path) root = root->parent_root;
    return root != nullptr;
}

bool names_working_table(Node* node, void*) {
    if (!node) return false;
    if (IsA(node, RangeTblEntry)) {
        const auto* entry = reinterpret_cast<const RangeTblEntry*>(node);
        return entry->rtekind == RTE_CTE && entry->self_reference;
    }
    if (IsA(node, Query)) return walk_query(castNode(Query, node), names_working_table, nullptr);
    return walk_expression(node, names_working_table, nullptr);
}

bool reads_working_table(const RangeTblEntry* entry) {
    if (entry->rtekind == RTE_CTE) return entry->self_reference;
    return entry->rtekind == RTE_SUBQUERY &&
           names_working_table(reinterpret_cast<Node*>(entry->subquery), nullptr);
}

}  // namespace

bool depends_on_working_table(const PlannerInfo* root, const RelOptInfo* joinrel) {
    if (!is_in_recursive_term(root)) return false;
    for (int relid = -1; (relid = bms_next_member(joinrel->relids, relid)) >= 0;)
        if (root->simple_rte_array[relid] && reads_working_table(root->simple_rte_array[relid])) return true;
    return false;
}

}  // namespace gpujoin
