// See distinct_counts.h.
#include "pg/planner/distinct_counts.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/plan_data.h"
#include "pg/planner/complete_groups.h"
#include "pg/planner/path_inputs.h"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
}

namespace gpujoin {

namespace {

struct Found {
    const Aggref* first;
    bool others;  // aggregates with DISTINCT that are none of ours, or of another value
};

const TargetEntry* argument_of(const Aggref* aggref) {
    return linitial_node(TargetEntry, aggref->args);
}

bool is_same(const Aggref* a, const Aggref* b) {
    const auto* by = linitial_node(SortGroupClause, a->aggdistinct);
    return by->eqop == linitial_node(SortGroupClause, b->aggdistinct)->eqop &&
           equal(argument_of(a)->expr, argument_of(b)->expr);
}

bool look_at(Node* node, void* context) {
    if (!node) return false;
    if (!IsA(node, Aggref)) return walk_expression(node, look_at, context);
    const auto* aggref = reinterpret_cast<const Aggref*>(node);
    auto* found = static_cast<Found*>(context);
    if (aggref->aggdistinct == NIL) return false;
    if (!is_distinct_count(node) || (found->first && !is_same(found->first, aggref)))
        found->others = true;
    else
        found->first = aggref;
    return false;
}

bool is_grouped_by(const PlannerInfo* root, Node* value) {
    ListCell* cell;
    const List* targets = root->processed_tlist;
    foreach (cell, targets) {
        const auto* entry = lfirst_node(TargetEntry, cell);
        if (entry->ressortgroupref != 0 && equal(entry->expr, value) &&
            get_sortgroupref_clause_noerr(entry->ressortgroupref, group_clause(root)))
            return true;
    }
    return false;
}

bool is_of_others(const Path* path) {
    if (!IsA(path, CustomPath)) return false;
    const char* name = reinterpret_cast<const CustomPath*>(path)->methods->CustomName;
    return strcmp(name, kNodeName) != 0 && strcmp(name, kCompleteGroupsNodeName) != 0;
}

// They may be made once for their path, as Citus makes its scan of what workers gave.
bool has_nodes_of_others(const Path* path) {
    if (is_of_others(path)) return true;
    bool found = false;
    visit_inputs(path, [&found](const Path* input) { found = found || has_nodes_of_others(input); });
    return found;
}

// Other subqueries than those of the query itself, and foreign scans, are made once as well.
bool has_scans_of_others(const PlannerInfo* root, int relation) {
    const RelOptInfo* rel = root->simple_rel_array[relation];
    return rel && (rel->subroot || rel->fdwroutine);
}

// A number that no other clause of the query has.
Index next_reference(const PlannerInfo* root) {
    Index last = 0;
    ListCell* cell;
    const List* targets = root->processed_tlist;
    foreach (cell, targets) last = Max(last, lfirst_node(TargetEntry, cell)->ressortgroupref);
    return last + 1;
}

Node* count_mutator(Node* node, void* context) {
    if (!node) return nullptr;
    if (is_distinct_count(node))
        return reinterpret_cast<Node*>(count_of_values(reinterpret_cast<const Aggref*>(node)));
    return mutate_expression(node, count_mutator, context);
}

List* counting_values(List* expressions) {
    return reinterpret_cast<List*>(count_mutator(reinterpret_cast<Node*>(expressions), nullptr));
}

// Above, the aggregates are those of the query.
Plan* make_plan(PlannerInfo*, RelOptInfo*, CustomPath* path, List* tlist, List*, List* custom_plans) {
    CustomScan* scan = make_node_above(path, AboveGroups::Chooses, tlist, custom_plans);
    auto* combining = static_cast<Plan*>(linitial(custom_plans));
    combining->targetlist = counting_values(combining->targetlist);
    combining->qual = counting_values(combining->qual);
    return &scan->scan.plan;
}

const CustomPathMethods path_methods = {
    .CustomName = kCompleteGroupsNodeName,
    .PlanCustomPath = make_plan,
    .ReparameterizeCustomPathByChild = nullptr,
};

}  // namespace

bool is_distinct_count(const Node* expression) {
    if (!IsA(expression, Aggref)) return false;
    const auto* aggref = reinterpret_cast<const Aggref*>(expression);
    return aggref->aggfnoid == F_COUNT_ANY && list_length(aggref->aggdistinct) == 1 &&
           aggref->aggorder == NIL && !aggref->aggfilter && aggref->agglevelsup == 0;
}

const DistinctCount* find_distinct_count(const PlannerInfo* root, List* target, Node* having) {
    Found found = {};
    look_at(reinterpret_cast<Node*>(target), &found);
    look_at(having, &found);
    if (!found.first || found.others) return nullptr;
    auto* result = unset<DistinctCount>();
    result->value = argument_of(found.first)->expr;
    if (is_grouped_by(root, reinterpret_cast<Node*>(result->value))) return nullptr;
    auto* clause = makeNode(SortGroupClause);
    *clause = *linitial_node(SortGroupClause, found.first->aggdistinct);
    clause->tleSortGroupRef = next_reference(root);
    result->clause = clause;
    return result;
}

// It has the number of the aggregate, so that it is not taken for a count of all values.
Aggref* count_of_values(const Aggref* distinct) {
    auto* count = makeNode(Aggref);
    *count = *distinct;
    count->aggdistinct = NIL;
    TargetEntry* argument = flatCopyTargetEntry(const_cast<TargetEntry*>(argument_of(distinct)));
    argument->ressortgroupref = 0;
    count->args = list_make1(argument);
    forget_presorted(count);
    return count;
}

// What is below core's own plan is planned twice, and lies in the plan in two places.
bool can_be_planned_twice(const PlannerInfo* root, const RelOptInfo* input) {
    for (int i = -1; (i = bms_next_member(root->all_baserels, i)) >= 0;)
        if (has_scans_of_others(root, i)) return false;
    ListCell* cell;
    foreach (cell, root->append_rel_list)
        if (has_scans_of_others(root, static_cast<int>(lfirst_node(AppendRelInfo, cell)->child_relid)))
            return false;
    foreach (cell, input->pathlist)
        if (has_nodes_of_others(static_cast<const Path*>(lfirst(cell)))) return false;
    return true;
}

AggPath* cheapest_own_path(const RelOptInfo* grouped) {
    const AggPath* cheapest = nullptr;
    ListCell* cell;
    foreach (cell, grouped->pathlist) {
        if (!IsA(lfirst(cell), AggPath)) continue;
        const auto* path = lfirst_node(AggPath, cell);
        if (!cheapest || path->path.total_cost < cheapest->path.total_cost) cheapest = path;
    }
    if (!cheapest) return nullptr;
    auto* copy = unset<AggPath>();
    *copy = *cheapest;
    return copy;
}

Path* make_distinct_path(AggPath* combining, AggPath* core) {
    return &make_path_above(list_make2(combining, core), &path_methods)->path;
}

}  // namespace gpujoin
