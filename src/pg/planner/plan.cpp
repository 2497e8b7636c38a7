#include "pg/planner/plan.h"

#include <initializer_list>

#include "pg/entry_points.h"
#include "pg/plan_data.h"
#include "pg/planner/join_path.h"
#include "pg/planner/nulling.h"
#include "pg/planner/row_identity.h"
#include "pg/settings.h"

extern "C" {
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
}

namespace gpujoin {
namespace {

constexpr double kDearOperators = 50;  // half of what functions in a procedural language are taken for

// Appends copies of a child's entries: copies, because setrefs changes expressions in place.
List* append_target_list(List* scan_tlist, const List* child_tlist) {
    ListCell* cell;
    foreach (cell, child_tlist) {
        TargetEntry* entry = static_cast<TargetEntry*>(copyObjectImpl(lfirst(cell)));
        entry->resno = list_length(scan_tlist) + 1;
        entry->ressortgroupref = 0;
        entry->resjunk = false;
        scan_tlist = lappend(scan_tlist, entry);
    }
    return scan_tlist;
}

// By StageExprs.
List* stage_expressions(const JoinClauses* clauses) {
    List* lists = list_make4(term_clauses(clauses->equalities), term_clauses(clauses->ranges),
                             term_clauses(clauses->filters), get_actual_clauses(clauses->conditions));
    lists = lappend(lists, filter_of(clauses).probe.expressions);
    lists = lappend(lists, filter_of(clauses).build.expressions);
    lists = lappend(lists, get_actual_clauses(clauses->residual));
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters})
        lists = lappend(lists, written_conditions(terms));
    Assert(list_length(lists) == kStageExprsCount);
    return lists;
}

// Whether a LIMIT, EXISTS or cursor above may stop the join early: nothing below that takes all of its rows
// first. (The join's rows have no order, so any that is wanted is made above it.)
bool is_bounded(const PlannerInfo* root) {
    const Query* query = root->parse;
    return root->tuple_fraction > 0 && root->query_pathkeys == NIL && !query->hasAggs &&
           query->groupClause == NIL;
}

// Whether a plan's own conditions take long, or those of one that setrefs may put in its place. Asked while
// there is a PlannerInfo: PostgreSQL 17.0 crashes when it is to cost some conditions without one.
bool tests_dear_conditions(PlannerInfo* root, const Plan* plan) {
    QualCost cost;
    cost_qual_eval(&cost, plan->qual, root);
    if (cost.per_tuple > kDearOperators * cpu_operator_cost) return true;
    if (IsA(plan, SubqueryScan)) {
        const auto* scan = reinterpret_cast<const SubqueryScan*>(plan);
        return tests_dear_conditions(find_base_rel(root, static_cast<int>(scan->scan.scanrelid))->subroot,
                                     scan->subplan);
    }
    if (!IsA(plan, Append)) return false;
    const List* children = reinterpret_cast<const Append*>(plan)->appendplans;
    return list_length(children) == 1 &&
           tests_dear_conditions(root, static_cast<const Plan*>(linitial(children)));
}

// probe_entries: how many of the scan tuple's come before those of the build child.
void set_stage(const GpuJoinPath* path, int probe_entries, StagePlan* stage) {
    const JoinClauses* clauses = path->clauses;
    const JoinFilter& filter = filter_of(clauses);
    stage->kind = path->kind;
    stage->first_entry = probe_entries + 1;
    stage->equalities = list_length(clauses->equalities);
    stage->ranges = list_length(clauses->ranges);
    stage->filters = list_length(clauses->filters);
    stage->conditions = list_length(clauses->conditions);
    for (int i = 0; i < stage->conditions; i++)
        stage->residual_before[i] = list_nth_int(clauses->residual_before, i);
    stage->program = filter.program;
    stage->probe_values = filter.probe.values;
    stage->build_values = filter.build.values;
    PlanTerm* next = stage->terms;
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters}) {
        ListCell* cell;
        foreach (cell, terms) *next++ = static_cast<JoinTerm*>(lfirst(cell))->plan;
    }
}

PlanData plan_data_of(PlannerInfo* root, const GpuJoinPath* path, const Plan* probe, StagePlan* stage) {
    set_stage(path, list_length(probe->targetlist), stage);
    PlanData data = {};
    data.estimated_probe_rows = static_cast<Path*>(linitial(path->path.custom_paths))->rows * path->shares;
    data.has_dear_conditions = tests_dear_conditions(root, probe);
    data.may_carry = setting_carry;
    data.is_bounded = is_bounded(root);
    data.costs = path->costs;
    data.stage_count = 1;
    data.stages = stage;
    return data;
}

}  // namespace

Plan* make_join_plan(PlannerInfo* root, RelOptInfo*, CustomPath* best_path, List* tlist, List*,
                     List* custom_plans) {
    const GpuJoinPath* path = reinterpret_cast<GpuJoinPath*>(best_path);
    const Plan* probe = static_cast<Plan*>(linitial(custom_plans));
    const List* build_tlist = static_cast<Plan*>(lsecond(custom_plans))->targetlist;
    StagePlan stage = {};
    PlanData data = plan_data_of(root, path, probe, &stage);

    List* entries = append_target_list(append_target_list(NIL, probe->targetlist), build_tlist);
    use_leaf_row_identities(root, entries);
    entries = with_nulling_of(entries, best_path->path.pathtarget->exprs);

    CustomScan* scan = makeNode(CustomScan);
    scan->scan.plan.targetlist = tlist;
    scan->scan.plan.qual = with_nulling_of(get_actual_clauses(path->clauses->pushed_down), entries);
    scan->flags = best_path->flags;
    scan->custom_plans = custom_plans;
    scan->custom_exprs = with_nulling_of(list_make1(stage_expressions(path->clauses)), entries);
    scan->custom_private = plan_data_to_list(&data);
    scan->custom_scan_tlist = entries;
    scan->methods = &scan_methods;
    return &scan->scan.plan;
}

}  // namespace gpujoin
