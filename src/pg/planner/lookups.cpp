// Core takes a range between two columns to be true for a third of all pairs, and BETWEEN for a
// ninth. So each lookup of a band in an index of a million rows is charged for 100,000 of them, where it
// finds a handful, and no nested loop ever wins against a GPU Join by cost. But where few rows look up a
// large table, the loop is faster: it does not read that table at all. Whoever made an index for a range is
// taken to find kLookupFanout rows in it at a time; then it is compared with what a GPU Join takes without
// the results, which both have to give.
//
// By equalities such a loop may win by cost, too, over what reads all of the table. Whether it may, whatever
// else is joined, can be told of one pair of relations: the loop and core's hash join have the same outer
// side and the same results.
#include "pg/planner/lookups.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/relation_notes.h"

extern "C" {
#include "executor/nodeHash.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
}

namespace gpujoin {
namespace {

constexpr double kLookupFanout = 8;

// One lookup of a range by a path whose parameters come from the outer side alone.
Cost range_lookup_cost(const Path* path) {
    double found = std::min(1.0, kLookupFanout / path->rows);
    return path->startup_cost + (path->total_cost - path->startup_cost) * found;
}

// A table that takes less of a plan's cost to read is as good as looked up.
constexpr double kHardly = 0.05;

// How far core's estimate of a loop may be above that of its hash join by what is not reckoned with here.
constexpr double kSlack = 1.5;

// More than there are.
constexpr double kManyRows = 1e30;

// With how many different keys a path looks rows up, whatever they are joined with before.
struct LookupKeys {
    const Path* path;
    double distinct;
};

Node* outer_argument(const RestrictInfo* condition, const RelOptInfo* inner) {
    if (!IsA(condition->clause, OpExpr) || list_length(castNode(OpExpr, condition->clause)->args) != 2)
        return nullptr;
    bool is_left = !bms_overlap(condition->left_relids, inner->relids);
    const List* arguments = castNode(OpExpr, condition->clause)->args;
    return static_cast<Node*>(is_left ? linitial(arguments) : lsecond(arguments));
}

double estimate_distinct_keys(PlannerInfo* root, const Path* path) {
    List* arguments = NIL;
    ListCell* cell;
    foreach (cell, path->param_info->ppi_clauses) {
        Node* argument = outer_argument(lfirst_node(RestrictInfo, cell), path->parent);
        if (!argument) return kManyRows;
        arguments = lappend(arguments, argument);
    }
    return arguments == NIL ? 1 : estimate_num_groups(root, arguments, kManyRows, nullptr, nullptr);
}

double distinct_keys(PlannerInfo* root, const Path* path) {
    RelationNotes* notes = make_notes(path->parent);
    ListCell* cell;
    foreach (cell, notes->lookup_keys) {
        const auto* known = static_cast<const LookupKeys*>(lfirst(cell));
        if (known->path == path) return known->distinct;
    }
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(path->parent));
    auto* keys = unset<LookupKeys>();
    *keys = {path, estimate_distinct_keys(root, path)};
    notes->lookup_keys = lappend(notes->lookup_keys, keys);
    MemoryContextSwitchTo(before);
    return keys->distinct;
}

// What core's loop costs at least, whichever process runs it.
Cost least_loop_cost(PlannerInfo* root, const Path* path, double loops, bool finds_one) {
    Cost lookup = path->total_cost;
    if (finds_one) lookup = path->startup_cost + (lookup - path->startup_cost) / std::max(path->rows, 1.0);
    if (!enable_memoize) return loops * lookup;
    const double distinct = std::min(loops, distinct_keys(root, path));
    return std::min(loops * lookup, distinct * lookup + loops * cpu_tuple_cost);
}

bool may_hash(const List* restrictlist) {
    if (!enable_hashjoin) return false;
    ListCell* cell;
    foreach (cell, restrictlist)
        if (OidIsValid(lfirst_node(RestrictInfo, cell)->hashjoinoperator)) return true;
    return false;
}

double pages_of(double rows, const RelOptInfo* rel) {
    return rows * rel->reltarget->width / BLCKSZ;
}

// What core's hash join costs beside its outer side and its results.
Cost hash_cost(double outer_rows, const RelOptInfo* outer, const RelOptInfo* inner) {
    const Path* path = inner->cheapest_total_path;
    Cost cost = path->total_cost + path->rows * (cpu_operator_cost + cpu_tuple_cost);
    double pages = pages_of(path->rows, inner);
    if (pages * BLCKSZ > static_cast<double>(get_hash_memory_limit()))
        cost += 2 * seq_page_cost * (pages + pages_of(outer_rows, outer));
    return cost + outer_rows * cpu_operator_cost;
}

}  // namespace

bool is_beaten_by_lookups(const JoinEstimate* estimate, const RelOptInfo* outer, const RelOptInfo* inner) {
    Cost without_results =
        estimate->total_cost - estimate->terms.cost[kExpansionTerm] - estimate->terms.cost[kEmissionTerm];
    const Path* outer_path = outer->cheapest_total_path;
    ListCell* cell;
    foreach (cell, inner->pathlist) {
        const Path* path = static_cast<Path*>(lfirst(cell));
        const Bitmapset* parameters = PATH_REQ_OUTER(path);
        if (bms_is_empty(parameters) || !bms_is_subset(parameters, outer->relids)) continue;
        if (outer_path->total_cost + outer_path->rows * range_lookup_cost(path) < without_results)
            return true;
    }
    return false;
}

bool may_look_up(const JoinPair& pair) {
    const RelOptInfo* outer = pair.outer;
    const RelOptInfo* inner = pair.inner;
    if (!outer->cheapest_total_path || !inner->cheapest_total_path) return false;
    if (pair.jointype == JOIN_RIGHT || pair.jointype == JOIN_FULL) return false;
    if (inner->cheapest_total_path->total_cost <= kHardly * outer->cheapest_total_path->total_cost)
        return false;
    const bool finds_one = pair.inner_is_unique || pair.jointype == JOIN_SEMI || pair.jointype == JOIN_ANTI;
    double loops = outer->rows;
    if (outer->partial_pathlist != NIL) loops = static_cast<Path*>(linitial(outer->partial_pathlist))->rows;
    ListCell* cell;
    foreach (cell, inner->cheapest_parameterized_paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (!bms_overlap(PATH_REQ_OUTER(path), outer->relids)) continue;
        if (!may_hash(pair.restrictlist)) return true;
        if (least_loop_cost(pair.root, path, loops, finds_one) <= kSlack * hash_cost(loops, outer, inner))
            return true;
    }
    return false;
}

}  // namespace gpujoin
