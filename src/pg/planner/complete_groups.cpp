// See complete_groups.h.
#include "pg/planner/complete_groups.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
}

namespace gpujoin {

namespace {

constexpr double kManyGroups = 1000;
// Of a group, beyond what is computed of it.
constexpr Cost kGroupCost = 0.01;

// HAVING, which core has put in order, is tested above.
Plan* make_plan(PlannerInfo*, RelOptInfo*, CustomPath* path, List* tlist, List*, List* custom_plans) {
    auto* combining = static_cast<Plan*>(linitial(custom_plans));
    CustomScan* scan = make_node_above(path, AboveGroups::Finishes, tlist, custom_plans);
    scan->scan.plan.qual = combining->qual;
    combining->qual = NIL;
    return &scan->scan.plan;
}

const CustomPathMethods path_methods = {
    .CustomName = kCompleteGroupsNodeName,
    .PlanCustomPath = make_plan,
    .ReparameterizeCustomPathByChild = nullptr,
};

}  // namespace

CustomPath* make_path_above(List* paths, const CustomPathMethods* methods) {
    const auto* core = static_cast<const Path*>(linitial(paths));
    auto* path = zeroed<CustomPath>();
    path->path.type = T_CustomPath;
    path->path.pathtype = T_CustomScan;
    path->path.parent = core->parent;
    path->path.pathtarget = core->pathtarget;
    path->path.rows = core->rows;
    path->path.startup_cost = core->startup_cost;
    path->path.total_cost = core->total_cost;
    path->path.pathkeys = core->pathkeys;
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->methods = methods;
    path->custom_paths = paths;
    add_disabled_nodes(&path->path, core);
    return path;
}

// Setrefs makes references to the columns of what is below of all that is one of them.
CustomScan* make_node_above(const CustomPath* path, AboveGroups does, List* tlist, List* custom_plans) {
    CustomScan* scan = makeNode(CustomScan);
    scan->scan.plan.targetlist = tlist;
    scan->flags = path->flags;
    scan->custom_plans = custom_plans;
    scan->custom_scan_tlist =
        static_cast<List*>(copyObjectImpl(static_cast<Plan*>(linitial(custom_plans))->targetlist));
    scan->custom_private = list_make1_int(static_cast<int>(does));
    scan->methods = &complete_groups_methods;
    return scan;
}

bool are_many_groups(double count) {
    return count >= kManyGroups;
}

Path* make_complete_groups_path(PlannerInfo* root, Path* input, const FinalGroups& groups) {
    AggPath* combining =
        create_agg_path(root, groups.grouped, input, groups.target, AGG_HASHED, AGGSPLIT_FINAL_DESERIAL,
                        groups.clause, groups.having, groups.costs, groups.count);
    CustomPath* path = make_path_above(list_make1(combining), &path_methods);
    path->path.pathtarget = groups.given;

    QualCost having;
    cost_qual_eval(&having, groups.having, root);
    const QualCost& computed = groups.given->cost;
    const Cost of_group =
        kGroupCost + groups.costs->finalCost.per_tuple + having.per_tuple + computed.per_tuple;
    path->path.rows = groups.count;
    if (groups.having != NIL)
        path->path.rows =
            clamp_row_est(groups.count * clauselist_selectivity(root, groups.having, 0, JOIN_INNER, nullptr));
    path->path.startup_cost = input->startup_cost + having.startup + computed.startup;
    path->path.total_cost = input->total_cost + having.startup + computed.startup + of_group * groups.count;
    return &path->path;
}

}  // namespace gpujoin
