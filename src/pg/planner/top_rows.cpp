// Below Sort and Limit: core's Sort forgets all rows but the first ones, one by one, and it takes a copy of
// each before it does. Nodes of ours are told what the rows are sorted by and how many are wanted, so that
// they give none that cannot be among them (executor/top_rows). This takes plans as they are in the end, and
// goes down from each Limit as the executor does when it tells Sorts how many rows are wanted
// (ExecSetTupleBound()).
#include "pg/top_rows.h"

#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/plan_data.h"
#include "pg/planner/planned_joins.h"

extern "C" {
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
}

namespace gpujoin {
namespace {

// More are not worth remembering.
constexpr int kMostTopRows = kMaxTopCount;
// There are to be so many times as many rows.
constexpr double kLeastShare = 2;

planner_hook_type next_planner;

// False: not known before it is run, or all.
bool find_count(const Limit* limit, int* count) {
    int64 sum = 0;
    if (limit->limitOption != LIMIT_OPTION_COUNT || !limit->limitCount) return false;
    for (const Node* node : {limit->limitCount, limit->limitOffset}) {
        if (!node) continue;
        if (!IsA(node, Const) || reinterpret_cast<const Const*>(node)->constisnull) return false;
        const int64 value = DatumGetInt64(reinterpret_cast<const Const*>(node)->constvalue);
        if (value < 0 || value > kMostTopRows) return false;
        sum += value;
    }
    *count = static_cast<int>(sum);
    return sum > 0 && sum <= kMostTopRows;
}

// The column of what is below that is the plan's; 0: it is computed, or something is that must be for every
// row.
AttrNumber column_below(const Plan* plan, int below, AttrNumber column) {
    if (has_effects_on_rows(plan->targetlist)) return 0;
    const Expr* expr = list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr;
    if (!IsA(expr, Var)) return 0;
    const auto* var = reinterpret_cast<const Var*>(expr);
    return var->varno == below && var->varattno > 0 ? var->varattno : 0;
}

void note(CustomScan* scan, const TopRowsPlan& top) {
    if (scan->scan.plan.plan_rows < kLeastShare * top.count) return;
    if (scan->methods == &scan_methods || scan->methods == &kept_scan_methods)
        plan_data_note_top_rows(scan->custom_private, top);
    else if (scan->methods == &complete_groups_methods &&
             list_length(scan->custom_private) == kIntegersOfNodeAbove)
        scan->custom_private = append_top_rows(scan->custom_private, top);
}

// What the rows of these are sorted by is a column of theirs.
void note_below(Plan* plan, TopRowsPlan top) {
    ListCell* cell;
    switch (nodeTag(plan)) {
        case T_CustomScan:
            return note(reinterpret_cast<CustomScan*>(plan), top);
        case T_Append:
            foreach (cell, reinterpret_cast<Append*>(plan)->appendplans)
                note_below(static_cast<Plan*>(lfirst(cell)), top);
            return;
        case T_SubqueryScan: {
            auto* scan = reinterpret_cast<SubqueryScan*>(plan);
            top.column = column_below(plan, static_cast<int>(scan->scan.scanrelid), top.column);
            if (plan->qual == NIL && top.column > 0) note_below(scan->subplan, top);
            return;
        }
        case T_Result:
        case T_Gather:
            top.column = column_below(plan, OUTER_VAR, top.column);
            if (plan->lefttree && top.column > 0) note_below(plan->lefttree, top);
            return;
        default:
            return;
    }
}

void note_sorted(const Sort* sort, int count) {
    note_below(sort->plan.lefttree, {count, sort->sortColIdx[0], sort->sortOperators[0], sort->collations[0],
                                     sort->nullsFirst[0], sort->numCols == 1});
}

// No more than so many of the plan's first rows are wanted.
void bound_rows(Plan* plan, int count) {
    ListCell* cell;
    switch (nodeTag(plan)) {
        case T_Sort:
            return note_sorted(reinterpret_cast<Sort*>(plan), count);
        case T_Append:
        case T_MergeAppend:
            foreach (cell, children_of(plan)) bound_rows(static_cast<Plan*>(lfirst(cell)), count);
            return;
        case T_SubqueryScan:
            if (plan->qual == NIL) bound_rows(reinterpret_cast<SubqueryScan*>(plan)->subplan, count);
            return;
        case T_Result:
        case T_Gather:
        case T_GatherMerge:
            if (plan->lefttree) bound_rows(plan->lefttree, count);
            return;
        default:
            return;
    }
}

void visit(Plan* plan) {
    check_stack_depth();
    int count;
    if (IsA(plan, Limit) && find_count(reinterpret_cast<const Limit*>(plan), &count))
        bound_rows(plan->lefttree, count);
    ListCell* cell;
    foreach (cell, children_of(plan)) visit(static_cast<Plan*>(lfirst(cell)));
}

PlannedStmt* plan(Query* query, const char* text, int options, ParamListInfo parameters) {
    PlannedStmt* statement = next_planner ? next_planner(query, text, options, parameters)
                                          : standard_planner(query, text, options, parameters);
    visit(statement->planTree);
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (lfirst(cell)) visit(static_cast<Plan*>(lfirst(cell)));
    return statement;
}

}  // namespace

void install_top_rows() {
    next_planner = planner_hook;
    planner_hook = plan;
}

}  // namespace gpujoin
