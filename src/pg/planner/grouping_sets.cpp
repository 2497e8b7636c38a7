// See grouping_sets.h.
#include "pg/planner/grouping_sets.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/planner/complete_groups.h"
#include "pg/planner/sorted_groups.h"

extern "C" {
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
}

namespace gpujoin {

namespace {

// Core's node for rows becomes one for partial groups, before references to what is below are made of its
// expressions. The node that is made here passes on what it gives.
Plan* make_plan(PlannerInfo*, RelOptInfo*, CustomPath* path, List* tlist, List*, List* custom_plans) {
    auto* combining = linitial_node(Agg, custom_plans);
    combining->aggsplit = AGGSPLIT_FINAL_DESERIAL;
    ListCell* cell;
    foreach (cell, combining->chain) lfirst_node(Agg, cell)->aggsplit = AGGSPLIT_FINAL_DESERIAL;
    return &make_node_above(path, AboveGroups::PassesOn, tlist, custom_plans)->scan.plan;
}

const CustomPathMethods path_methods = {
    .CustomName = kCompleteGroupsNodeName,
    .PlanCustomPath = make_plan,
    .ReparameterizeCustomPathByChild = nullptr,
};

// Rows come sorted for the first of the sets that are not hashed.
bool needs_order(const GroupingSetsPath* model) {
    ListCell* cell;
    foreach (cell, model->rollups) {
        const auto* rollup = lfirst_node(RollupData, cell);
        if (!rollup->is_hashed && rollup->groupClause != NIL) return true;
    }
    return false;
}

}  // namespace

bool can_combine_sets() {
    return kCombinesSets;
}

// A key that is a constant, or the same as another one, is NULL in some sets, as neither is elsewhere; and
// what is volatile has been computed below. References are found by what expressions are.
bool can_pass_on_sets(const PathTarget* target, const List* keys) {
    List* seen = NIL;
    ListCell* cell;
    foreach (cell, target->exprs) {
        const Index reference = get_pathtarget_sortgroupref(target, foreach_current_index(cell));
        if (reference == 0 || !get_sortgroupref_clause_noerr(reference, const_cast<List*>(keys))) continue;
        auto* key = static_cast<Node*>(lfirst(cell));
        if (IsA(key, Const) || list_member(seen, key)) return false;
        seen = lappend(seen, key);
    }
    return !contain_volatile_functions(reinterpret_cast<Node*>(target->exprs));
}

const GroupingSetsPath* cheapest_sets_path(const RelOptInfo* grouped) {
    const GroupingSetsPath* cheapest = nullptr;
    ListCell* cell;
    foreach (cell, grouped->pathlist) {
        if (!IsA(lfirst(cell), GroupingSetsPath)) continue;
        const auto* path = lfirst_node(GroupingSetsPath, cell);
        if (!cheapest || path->path.total_cost < cheapest->path.total_cost) cheapest = path;
    }
    if (!cheapest) return nullptr;
    auto* copy = unset<GroupingSetsPath>();
    *copy = *cheapest;
    return copy;
}

Path* make_sets_path(PlannerInfo* root, const GroupingSetsPath* model, Path* partial,
                     const AggClauseCosts* costs) {
    RelOptInfo* grouped = model->path.parent;
    if (needs_order(model)) partial = sort_groups(root, root->group_pathkeys, partial);
    Path* combining = group_by_sets(root, grouped, partial, model, costs);
    return &make_path_above(list_make1(combining), &path_methods)->path;
}

}  // namespace gpujoin
