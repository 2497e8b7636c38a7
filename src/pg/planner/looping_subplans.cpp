// See looping_subplans.h.
#include "pg/planner/looping_subplans.h"

#include <algorithm>

#include "pg/compat.h"
#include "pg/planner/planned_joins.h"

extern "C" {
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

// PostgreSQL charges for a call with each row that comes in, though other conditions are tested first. What
// is left of the rows in the end is a third of those that it runs for, unless it is for a comparison that few
// pass.
constexpr double kCallsOfRow = 3;
constexpr Cost kLeastLooping = 1000;
constexpr Cost kLeastLookups = 20000;

// What each call reads, and what part of all calls the join may take then.
enum class Reads : uint8 {
    CommonTables,  // what lies in memory, and the join reads once: it need only be cheaper
    Tables,        // as much as the join, each time: one call a row that goes out
    Indexes,       // which what is in memory takes a fraction of what it is charged
};

double caution(Reads reads) {
    return reads == Reads::CommonTables ? 0 : reads == Reads::Tables ? kCallsOfRow : 4;
}

// What the correlated subqueries of a plan take, and its lookups in others' rows.
struct Looping {
    const PlannedStmt* statement;
    double rows;  // that the node at hand gives
    Cost cost;
    Reads reads;
    bool has_hash_table;  // of a subquery's rows, in which each row is looked up
};

// Of a node alone. An Append may leave out partitions in each call.
Reads reads_of(const Plan* plan) {
    switch (nodeTag(plan)) {
        case T_IndexScan:
        case T_IndexOnlyScan:
        case T_BitmapHeapScan:
        case T_TidScan:
        case T_TidRangeScan:
        case T_ForeignScan:
        case T_Append:
        case T_MergeAppend:
            return Reads::Indexes;
        case T_SeqScan:
        case T_SampleScan:
        case T_CustomScan:
            return Reads::Tables;
        default:
            return Reads::CommonTables;
    }
}

const Plan* plan_of(const PlannedStmt* statement, const SubPlan* subplan) {
    return static_cast<const Plan*>(list_nth(statement->subplans, subplan->plan_id - 1));
}

Reads reads_below(const PlannedStmt* statement, const Plan* plan) {
    if (!plan) return Reads::CommonTables;
    check_stack_depth();
    Reads reads = reads_of(plan);
    ListCell* cell;
    foreach (cell, children_of(plan))
        reads = std::max(reads, reads_below(statement, static_cast<const Plan*>(lfirst(cell))));
    foreach (cell, plan->initPlan)  // as min(x) has, by an index
        reads = std::max(reads, reads_below(statement, plan_of(statement, lfirst_node(SubPlan, cell))));
    return reads;
}

void add_calls(const SubPlan* subplan, Looping* looping) {
    looping->cost += kCallsOfRow * looping->rows * subplan->per_call_cost;
    looping->reads =
        std::max(looping->reads, reads_below(looping->statement, plan_of(looping->statement, subplan)));
}

// Of NOT IN, or of an IN that is not joined. A hash table takes little of the time of its statement, but so
// does what may take its place, which does not stand in the way of joins. Without one all of the subquery's
// rows are looked at for each row.
void add_lookups(const SubPlan* subplan, Looping* looping) {
    if (subplan->useHashTable)
        looping->has_hash_table = true;
    else
        looping->cost += looping->rows * subplan->per_call_cost;
}

bool add_subplans(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, SubPlan)) {
        const auto* subplan = reinterpret_cast<const SubPlan*>(node);
        auto* looping = static_cast<Looping*>(context);
        if (subplan->parParam != NIL)
            add_calls(subplan, looping);
        else if (subplan->subLinkType == ANY_SUBLINK)
            add_lookups(subplan, looping);
    }
    return walk_expression(node, add_subplans, context);
}

void add_conditions(const Plan* plan, Looping* looping) {
    looping->rows = clamp_row_est(plan->plan_rows);
    add_subplans(reinterpret_cast<Node*>(plan->qual), looping);
    if (IsA(plan, NestLoop) || IsA(plan, HashJoin) || IsA(plan, MergeJoin))
        add_subplans(reinterpret_cast<Node*>(reinterpret_cast<const Join*>(plan)->joinqual), looping);
    if (IsA(plan, CustomScan))
        add_subplans(reinterpret_cast<Node*>(reinterpret_cast<const CustomScan*>(plan)->custom_exprs),
                     looping);
}

void add_nodes(const Plan* plan, Looping* looping);

// The inner side is run for each row of the other one. What core charges for that is the most: it counts rows
// that other conditions leave out, and knows how often a Memoize has the result.
void add_inputs_of_loop(const Plan* loop, Looping* looping) {
    const Plan* outer = loop->lefttree;
    const Plan* inner = loop->righttree;
    add_nodes(outer, looping);
    Looping once = {looping->statement, 0, 0, looping->reads, looping->has_hash_table};
    add_nodes(inner, &once);
    const double runs = IsA(inner, Material) ? 1 : clamp_row_est(outer->plan_rows);
    looping->cost += std::max(once.cost, std::min(runs * once.cost, loop->total_cost - outer->total_cost));
    looping->reads = once.reads;
    looping->has_hash_table = once.has_hash_table;
}

void add_nodes(const Plan* plan, Looping* looping) {
    if (!plan) return;
    check_stack_depth();
    add_conditions(plan, looping);
    if (IsA(plan, NestLoop)) return add_inputs_of_loop(plan, looping);
    ListCell* cell;
    foreach (cell, children_of(plan)) add_nodes(static_cast<const Plan*>(lfirst(cell)), looping);
}

Looping looping_in(const PlannedStmt* statement) {
    Looping looping = {statement, 0, 0, Reads::CommonTables, false};
    add_nodes(statement->planTree, &looping);
    ListCell* cell;
    foreach (cell, statement->subplans) add_nodes(static_cast<const Plan*>(lfirst(cell)), &looping);
    return looping;
}

bool has_loop(const Plan* plan) {
    if (!plan) return false;
    check_stack_depth();
    if (IsA(plan, NestLoop)) return true;
    ListCell* cell;
    foreach (cell, children_of(plan))
        if (has_loop(static_cast<const Plan*>(lfirst(cell)))) return true;
    return false;
}

}  // namespace

bool has_dear_subplans(const PlannedStmt* statement) {
    const Looping looping = looping_in(statement);
    return looping.cost >= (looping.reads == Reads::Indexes ? kLeastLookups : kLeastLooping) ||
           (looping.has_hash_table && statement->planTree->total_cost >= kLeastLookups);
}

// Core expects half of the rows of NOT IN, but may expect a single one of an antijoin. So where a hash table
// is all that is to be gained from, no loop may count on that.
bool is_clearly_cheaper(const PlannedStmt* joined, const PlannedStmt* statement) {
    const Looping looping = looping_in(statement);
    const Cost cost = joined->planTree->total_cost;
    if (looping.cost == 0 && has_loop(joined->planTree)) return false;
    return cost < statement->planTree->total_cost && caution(looping.reads) * cost <= looping.cost &&
           disabled_nodes(joined->planTree) <= disabled_nodes(statement->planTree);
}

}  // namespace gpujoin
