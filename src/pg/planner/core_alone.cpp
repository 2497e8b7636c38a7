// See core_alone.h.
#include "pg/planner/core_alone.h"

#include "pg/compat.h"
#include "pg/planner/planned_joins.h"

extern "C" {
#include "optimizer/pathnode.h"
}

namespace gpujoin {
namespace {

// As add_path() tells paths apart.
constexpr double kFuzz = 1.01;

Influence current;

// Such as a view's, or what a function may turn out to be.
bool reads_query(const Query* query) {
    if (query->rtable == NIL) return false;
    const RTEKind kind = linitial_node(RangeTblEntry, query->rtable)->rtekind;
    return kind == RTE_SUBQUERY || kind == RTE_FUNCTION;
}

bool is_not_of_core(const Plan* plan) {
    return IsA(plan, CustomScan) || IsA(plan, ForeignScan);
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
    return list_length(query->rtable) > 1 || reads_query(query) || query->hasAggs ||
           query->groupClause != NIL || query->hasSubLinks || query->cteList != NIL;
}

bool is_all_of_core(const PlannedStmt* statement) {
    return !has_node(statement, is_not_of_core);
}

bool is_about_as_cheap(const PlannedStmt* core, const PlannedStmt* other) {
    return core->planTree->total_cost <= kFuzz * other->planTree->total_cost &&
           disabled_nodes(core->planTree) <= disabled_nodes(other->planTree);
}

}  // namespace gpujoin
