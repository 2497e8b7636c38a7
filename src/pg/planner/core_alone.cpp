// See core_alone.h.
#include "pg/planner/core_alone.h"

#include <utility>

#include "pg/planner/planned_joins.h"

extern "C" {
#include "miscadmin.h"
}

namespace gpujoin {

namespace {

// What takes less is over before it matters.
constexpr Cost kLeast = 1000;

bool is_alone = false;
uint64 influence_count = 0;

bool has_node_of_ours(const Plan* plan) {
    if (!plan) return false;
    check_stack_depth();
    if (is_node_of_ours(plan)) return true;
    ListCell* cell;
    foreach (cell, children_of(plan))
        if (has_node_of_ours(static_cast<const Plan*>(lfirst(cell)))) return true;
    return false;
}

bool has_node_of_ours(const PlannedStmt* statement) {
    if (has_node_of_ours(statement->planTree)) return true;
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (has_node_of_ours(static_cast<const Plan*>(lfirst(cell)))) return true;
    return false;
}

}  // namespace

bool is_core_alone() {
    return is_alone;
}

bool set_core_alone(bool alone) {
    return std::exchange(is_alone, alone);
}

uint64 influences() {
    return influence_count;
}

void note_influence() {
    influence_count++;
}

void forget_influences(uint64 before) {
    influence_count = before;
}

bool has_lost_core_plan(const PlannedStmt* statement, uint64 before) {
    return influence_count != before && statement->planTree->total_cost >= kLeast &&
           !has_node_of_ours(statement);
}

}  // namespace gpujoin
