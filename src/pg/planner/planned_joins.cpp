// See planned_joins.h.
#include "pg/planner/planned_joins.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/plan_data.h"

extern "C" {
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {
namespace {

struct Walk {
    PlannedJoins found;
    List* ours;                    // of CustomScan, in the order of their numbers
    const Plan* gate;              // a Result with a condition on no table, if the node below it is next
    const Plan* partial_distinct;  // a part of the last aggregate
};

// Of a node that reads a relation: its entry in the range table; else 0.
int relation_read_by(const Plan* plan) {
    switch (nodeTag(plan)) {
        case T_SeqScan:
        case T_SampleScan:
        case T_IndexScan:
        case T_IndexOnlyScan:
        case T_BitmapHeapScan:
        case T_TidScan:
        case T_TidRangeScan:
        case T_SubqueryScan:
        case T_FunctionScan:
        case T_ValuesScan:
        case T_TableFuncScan:
        case T_CteScan:
        case T_NamedTuplestoreScan:
        case T_WorkTableScan:
        case T_ForeignScan:
        case T_CustomScan:
            return static_cast<int>(reinterpret_cast<const Scan*>(plan)->scanrelid);
        default:
            return 0;
    }
}

Bitmapset* relations_below(const Plan* plan, Bitmapset* relations) {
    if (int relation = relation_read_by(plan)) relations = bms_add_member(relations, relation);
    if (IsA(plan, ForeignScan))
        relations = bms_add_members(relations, reinterpret_cast<const ForeignScan*>(plan)->fs_relids);
    ListCell* cell;
    foreach (cell, children_of(plan))
        relations = relations_below(static_cast<Plan*>(lfirst(cell)), relations);
    return relations;
}

// What stands for all members of an inheritance tree that an Append reads.
Bitmapset* trees_read_by(const Plan* plan) {
    if (IsA(plan, Append)) return reinterpret_cast<const Append*>(plan)->apprelids;
    if (IsA(plan, MergeAppend)) return reinterpret_cast<const MergeAppend*>(plan)->apprelids;
    if (IsA(plan, ForeignScan)) return reinterpret_cast<const ForeignScan*>(plan)->fs_relids;
    return nullptr;
}

// Not what is within a subquery, nor each member of an inheritance tree.
List* tables_below(const Plan* plan, List* tables) {
    if (int relation = relation_read_by(plan)) return list_append_unique_int(tables, relation);
    Bitmapset* trees = trees_read_by(plan);
    for (int tree = -1; (tree = bms_next_member(trees, tree)) >= 0;)
        tables = list_append_unique_int(tables, tree);
    if (!bms_is_empty(trees)) return tables;
    ListCell* cell;
    foreach (cell, children_of(plan)) tables = tables_below(static_cast<Plan*>(lfirst(cell)), tables);
    return tables;
}

const char* kind_of(JoinType type) {
    switch (type) {
        case JOIN_LEFT:
            return "Left Join";
        case JOIN_RIGHT:
            return "Right Join";
        case JOIN_FULL:
            return "Full Join";
        case JOIN_SEMI:
            return "Semi Join";
        case JOIN_ANTI:
            return "Anti Join";
        case JOIN_INNER:
            return "Inner Join";
        default:
            return "Join";
    }
}

const char* name_of_node(const Plan* plan) {
    switch (nodeTag(plan)) {
        case T_NestLoop:
            return "Nested Loop";
        case T_MergeJoin:
            return "Merge Join";
        case T_HashJoin:
            return "Hash Join";
        case T_Group:
            return "Group";
        case T_Unique:
            return "Unique";
        default:
            break;
    }
    switch (castNode(Agg, const_cast<Plan*>(plan))->aggstrategy) {
        case AGG_SORTED:
            return "GroupAggregate";
        case AGG_HASHED:
            return "HashAggregate";
        case AGG_MIXED:
            return "MixedAggregate";
        default:
            return "Aggregate";
    }
}

void add(Walk* walk, const PlannedJoin& join) {
    auto* copy = unset<PlannedJoin>();
    *copy = join;
    walk->found.joins = lappend(walk->found.joins, copy);
}

void add_core_join(Walk* walk, const Plan* plan, bool is_partial) {
    PlannedJoin join = {};
    join.plan = plan;
    join.kind = kind_of(reinterpret_cast<const Join*>(plan)->jointype);
    if (walk->gate && walk->gate->lefttree == plan)
        join.gate = reinterpret_cast<const Result*>(walk->gate)->resconstantqual;
    join.node = name_of_node(plan);
    join.is_partial = is_partial;
    join.outer = relations_below(plan->lefttree, nullptr);
    join.inner = relations_below(plan->righttree, nullptr);
    join.tables = tables_below(plan->righttree, tables_below(plan->lefttree, NIL));
    add(walk, join);
}

bool is_ours(const Plan* plan) {
    if (!IsA(plan, CustomScan)) return false;
    const auto* methods = reinterpret_cast<const CustomScan*>(plan)->methods;
    return methods == &scan_methods || methods == &group_methods;
}

bool makes_groups(const Plan* plan) {
    return is_ours(plan) && reinterpret_cast<const CustomScan*>(plan)->methods == &group_methods;
}

// "GPU Join 1": nodes of ours are numbered as they are found.
const char* our_name(Walk* walk, const Plan* plan) {
    walk->ours = list_append_unique_ptr(walk->ours, const_cast<Plan*>(plan));
    int number = 1;
    while (list_nth(walk->ours, number - 1) != plan) number++;
    return psprintf("%s %d", makes_groups(plan) ? kGroupNodeName : kNodeName, number);
}

void add_our_joins(Walk* walk, const Plan* plan, bool is_partial) {
    const auto* scan = reinterpret_cast<const CustomScan*>(plan);
    PlanData data = {};
    plan_data_from_list(scan->custom_private, &data);
    PlannedJoin join = {};
    join.plan = plan;
    join.is_taken = true;
    join.is_partial = is_partial;
    join.tables = tables_below(static_cast<Plan*>(linitial(scan->custom_plans)), NIL);
    for (int stage = 0; stage < data.stage_count; stage++) {
        const auto* build = static_cast<const Plan*>(list_nth(scan->custom_plans, stage + 1));
        join.kind = psprintf("%s Join", name_of(data.stages[stage].kind));
        join.node = data.stage_count == 1 ? our_name(walk, plan)
                                          : psprintf("%s, stage %d", our_name(walk, plan), stage + 1);
        join.tables = tables_below(build, list_copy(join.tables));
        add(walk, join);
    }
}

// The node of ours that makes the partial groups which this one finishes; nullptr: it is not so.
const Plan* partial_groups_below(const Plan* plan) {
    for (plan = plan->lefttree; plan; plan = plan->lefttree) {
        if (makes_groups(plan)) return plan;
        const bool passes_on = IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, Gather) ||
                               IsA(plan, GatherMerge) || IsA(plan, Result);
        if (!passes_on) return nullptr;
    }
    return nullptr;
}

bool finishes_groups(const Plan* plan) {
    return IsA(plan, Group) || IsA(plan, Unique) ||
           (IsA(plan, Agg) && !DO_AGGSPLIT_SKIPFINAL(reinterpret_cast<const Agg*>(plan)->aggsplit));
}

// The node of each process that leaves out what its rows have twice, below the one that does it for all.
const Plan* partial_distinct_below(const Plan* plan) {
    bool is_gathered = false;
    for (plan = plan->lefttree; plan; plan = plan->lefttree) {
        if (IsA(plan, Gather) || IsA(plan, GatherMerge))
            is_gathered = true;
        else if (!IsA(plan, Sort) && !IsA(plan, IncrementalSort))
            return is_gathered && finishes_groups(plan) ? plan : nullptr;
    }
    return nullptr;
}

void add_aggregate(Walk* walk, const Plan* plan, bool is_partial) {
    PlannedJoin groups = {};
    groups.plan = plan;
    groups.kind = "Aggregate";
    groups.is_aggregate = true;
    groups.is_partial = is_partial;
    groups.outer = relations_below(plan, nullptr);
    groups.tables = tables_below(plan, NIL);
    const Plan* ours = partial_groups_below(plan);
    groups.is_taken = ours != nullptr;
    groups.node = ours ? our_name(walk, ours) : name_of_node(plan);
    add(walk, groups);
    walk->partial_distinct = partial_distinct_below(plan);
}

bool is_above_groups(const Plan* plan) {
    return IsA(plan, CustomScan) &&
           reinterpret_cast<const CustomScan*>(plan)->methods == &complete_groups_methods;
}

// Core's own plan of groups, which lies beside ours for distinct values, is for when these are not complete.
List* expected_to_run(const Plan* plan) {
    if (!is_above_groups(plan)) return children_of(plan);
    return list_make1(linitial(reinterpret_cast<const CustomScan*>(plan)->custom_plans));
}

void walk_plan(Walk* walk, const Plan* plan, bool is_partial) {
    check_stack_depth();
    if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
        add_core_join(walk, plan, is_partial);
    if (is_ours(plan)) add_our_joins(walk, plan, is_partial);
    if (finishes_groups(plan) && plan != walk->partial_distinct) add_aggregate(walk, plan, is_partial);
    walk->found.has_limit |= IsA(plan, Limit);
    if (IsA(plan, Result) && reinterpret_cast<const Result*>(plan)->resconstantqual) walk->gate = plan;
    is_partial |= IsA(plan, Gather) || IsA(plan, GatherMerge);
    ListCell* cell;
    foreach (cell, expected_to_run(plan)) walk_plan(walk, static_cast<Plan*>(lfirst(cell)), is_partial);
}

}  // namespace

List* children_of(const Plan* plan) {
    List* children = NIL;
    if (plan->lefttree) children = lappend(children, plan->lefttree);
    if (plan->righttree) children = lappend(children, plan->righttree);
    switch (nodeTag(plan)) {
        case T_Append:
            return list_concat(children, reinterpret_cast<const Append*>(plan)->appendplans);
        case T_MergeAppend:
            return list_concat(children, reinterpret_cast<const MergeAppend*>(plan)->mergeplans);
        case T_SubqueryScan:
            return lappend(children, reinterpret_cast<const SubqueryScan*>(plan)->subplan);
        case T_CustomScan:
            return list_concat(children, reinterpret_cast<const CustomScan*>(plan)->custom_plans);
        default:
            return children;
    }
}

bool has_node(const PlannedStmt* statement, bool (*is_so)(const Plan*)) {
    List* plans = lcons(statement->planTree, list_copy(statement->subplans));
    while (plans != NIL) {
        const auto* plan = static_cast<const Plan*>(llast(plans));
        plans = list_delete_last(plans);
        if (!plan) continue;
        if (is_so(plan)) return true;
        plans = list_concat(plans, children_of(plan));
    }
    return false;
}

bool is_node_of_ours(const Plan* plan) {
    const bool is_kept_scan =
        IsA(plan, CustomScan) && reinterpret_cast<const CustomScan*>(plan)->methods == &kept_scan_methods;
    return is_ours(plan) || is_above_groups(plan) || is_kept_scan;
}

PlannedJoins joins_of(const PlannedStmt* statement) {
    Walk walk = {};
    List* plans = lcons(statement->planTree, list_copy(statement->subplans));
    ListCell* cell;
    foreach (cell, plans) {
        const auto* plan = static_cast<const Plan*>(lfirst(cell));
        if (!plan) continue;
        walk_plan(&walk, plan, false);
        walk.found.used = relations_below(plan, walk.found.used);
    }
    foreach (cell, walk.found.joins) {
        ListCell* table;
        foreach (table, static_cast<PlannedJoin*>(lfirst(cell))->tables)
            walk.found.used = bms_add_member(walk.found.used, lfirst_int(table));
    }
    return walk.found;
}

}  // namespace gpujoin
