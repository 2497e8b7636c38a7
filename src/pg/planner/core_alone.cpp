// See core_alone.h.
#include "pg/planner/core_alone.h"

#include "pg/compat.h"
#include "pg/planner/grouped_query.h"
#include "pg/planner/planned_joins.h"
#include "pg/planner/search_bounds.h"

extern "C" {
#include "optimizer/pathnode.h"
}

namespace gpujoin {
namespace {

// As add_path() tells paths apart.
constexpr double kFuzz = 1.01;
// What takes so long takes many times as long as to plan it again.
constexpr Cost kMuch = 100000;

Influence current;

// Such as a view's, or what a function may turn out to be.
bool reads_query(const Query* query) {
    if (query->rtable == NIL) return false;
    const RTEKind kind = linitial_node(RangeTblEntry, query->rtable)->rtekind;
    return kind == RTE_SUBQUERY || kind == RTE_FUNCTION;
}

// Of which there may be many: they are not copied for nothing.
bool inserts_values(const Query* query) {
    return query->commandType == CMD_INSERT && !query->hasSubLinks && list_length(query->rtable) == 2 &&
           lsecond_node(RangeTblEntry, query->rtable)->rtekind == RTE_VALUES;
}

bool is_of_others(const Plan* plan) {
    return IsA(plan, ForeignScan) || (IsA(plan, CustomScan) && !is_node_of_ours(plan));
}

bool is_append(const Plan* plan) {
    return IsA(plan, Append);
}

bool is_parallel_append(const Plan* plan) {
    return is_append(plan) && plan->parallel_aware;
}

bool has_ours(const PlannedStmt* statement) {
    return has_node(statement, is_node_of_ours);
}

}  // namespace

Influence set_influence(Influence influence) {
    const Influence before = current;
    current = influence;
    return before;
}

LeftOut left_out() {
    return current.left_out;
}

void note_influence() {
    current.is_felt = true;
}

void forget_influence() {
    current.is_felt = false;
}

bool is_influence_felt() {
    return current.is_felt;
}

void add_our_path(RelOptInfo* rel, Path* path) {
    add_path(rel, path);
    if (list_member_ptr(rel->pathlist, path)) note_influence();
}

void add_our_partial_path(RelOptInfo* rel, Path* path) {
    add_partial_path(rel, path);
    if (list_member_ptr(rel->partial_pathlist, path)) note_influence();
}

bool may_be_influenced(const Query* query) {
    if (inserts_values(query)) return false;
    return list_length(query->rtable) > 1 || reads_query(query) || has_groups(query) || query->hasSubLinks ||
           query->cteList != NIL;
}

bool may_be_worse(const PlannedStmt* statement) {
    if (has_node(statement, is_of_others)) return false;
    return !has_ours(statement) ||
           (statement->planTree->total_cost >= kMuch && has_node(statement, is_append));
}

bool is_better(const PlannedStmt* core, const PlannedStmt* other) {
    if (disabled_nodes(core->planTree) > disabled_nodes(other->planTree)) return false;
    const double share = core->planTree->total_cost / other->planTree->total_cost;
    if (!has_ours(other)) return share <= kFuzz;
    return share <= 1 - kGain && has_node(core, is_parallel_append) && !has_node(other, is_parallel_append);
}

}  // namespace gpujoin
