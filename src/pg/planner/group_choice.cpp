// See group_choice.h.
#include "pg/planner/group_choice.h"

#include "pg/compat.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/rivals.h"
#include "pg/planner/undeclared_keys.h"
#include "pg/settings.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/spccache.h"
}

namespace gpujoin {
namespace {

// Core reads the same rows, and its aggregation is a part of that plan: what we do beyond fetching their
// pages must be cheaper by more than costs are wrong, and groups, where they are made twice, are charged for.
constexpr double kClearlyCheaper = 0.85;
// Than core's groups, not to depend on how many rows come out of the engine.
constexpr double kHardlyMore = 1.05;
// Of each state that is written and read again, as those of numeric sums are.
constexpr double kCostOfState = 0.17;
// So many rows of a group are too few for it to be made twice.
constexpr double kFewRowsOfGroup = 2;

// Core's groups of rows that loops give, which may be many more than expected, go where ours cost little
// more.
void displace_loops(const GroupCall& call, const RelOptInfo* input, const Chain* chain, const Path* path) {
    if (chain->risk > 0 || chain->length == 0) return;
    const Cost worth = worth_of_steadiness(input, quick_facts_of(path).gathers);
    if (worth == 0) return;
    ListCell* cell;
    foreach (cell, call.grouped->pathlist) {
        const auto* other = static_cast<const Path*>(lfirst(cell));
        if (path->total_cost <= other->total_cost + worth && quick_facts_of(other).looping > 0)
            call.grouped->pathlist = foreach_delete_current(call.grouped->pathlist, cell);
    }
}

// Core's groups of rows that a GPU Join gives cost as little where few come, and take long where more do than
// were expected: each has to be handed out, and perhaps sorted.
void displace_rows(const GroupCall& call, const Path* path) {
    if (setting_force) return;
    const Cost cost = path->total_cost + kCostOfGroup * path->rows;
    ListCell* cell;
    foreach (cell, call.grouped->pathlist) {
        const auto* other = static_cast<const Path*>(lfirst(cell));
        const Path* input = input_of_groups(other);
        if (input && IsA(input, SortPath)) input = reinterpret_cast<const SortPath*>(input)->subpath;
        if (!input || !gives_rows_of_gpu_join(input)) continue;
        if (cost <= kHardlyMore * other->total_cost)
            call.grouped->pathlist = foreach_delete_current(call.grouped->pathlist, cell);
    }
}

// Of a table's pages that are read in their order.
Cost fetching_cost(const Path* path) {
    if (path->pathtype != T_SeqScan) return 0;
    double page_cost;
    get_tablespace_page_costs(path->parent->reltablespace, nullptr, &page_cost);
    return page_cost * path->parent->pages;
}

// input: of the node that makes the groups, for which each costs so much. Paths of ours that are there
// already spare what is kept, too.
bool is_clearly_cheaper(const GroupCall& call, const Chain* chain, const Path* input, double cost_of_group) {
    const Cost fetching = fetching_cost(chain->probe);
    const Cost fetching_of_ours = fetching * (1 - chain->costs.kept);
    const Cost cost = input->total_cost + cost_of_group * input->rows - fetching_of_ours;
    ListCell* cell;
    foreach (cell, call.grouped->pathlist) {
        const auto* other = static_cast<const Path*>(lfirst(cell));
        const Cost fetched = has_gpu_join(other) ? fetching_of_ours : fetching;
        if (cost > kClearlyCheaper * (other->total_cost - fetched)) return false;
    }
    return true;
}

double cost_of_partial_group(const GroupCall& call) {
    double cost = kCostOfGroup;
    ListCell* cell;
    foreach (cell, call.target->exprs) {
        const auto* column = static_cast<const Node*>(lfirst(cell));
        if (IsA(column, Aggref) && exprType(column) == BYTEAOID) cost += kCostOfState;
    }
    return cost;
}

}  // namespace

bool gives_rows_of_gpu_join(const Path* path) {
    if (IsA(path, ProjectionPath))
        return gives_rows_of_gpu_join(reinterpret_cast<const ProjectionPath*>(path)->subpath);
    if (IsA(path, GatherPath))
        return gives_rows_of_gpu_join(reinterpret_cast<const GatherPath*>(path)->subpath);
    return is_gpu_join(path) && !reinterpret_cast<const GpuJoinPath*>(path)->groups;
}

bool is_worthwhile(const GroupCall& call, const Chain* chain, const Path* input, double cost_of_group) {
    return setting_force || chain->length > 0 || is_clearly_cheaper(call, chain, input, cost_of_group);
}

bool is_worthwhile_in_parallel(const GroupCall& call, const Chain* chain, const Path* gather) {
    const double cost = cost_of_partial_group(call);
    // As many rows as core expects, by which groups are estimated.
    const double rows = chain->costs.rows / underestimate_of(chain->joinrel);
    const bool has_few_groups = kFewRowsOfGroup * call.groups <= rows * parallel_shares(chain->workers);
    return has_few_groups ? is_worthwhile(call, chain, gather, kCostOfGroup)
                          : setting_force || is_clearly_cheaper(call, chain, gather, cost);
}

void make_way(const GroupCall& call, const RelOptInfo* input, const Chain* chain, const Path* path,
              bool* is_done) {
    if (setting_force && !*is_done) call.grouped->pathlist = NIL;
    *is_done = true;
    displace_loops(call, input, chain, path);
    if (chain->risk == 0) displace_rows(call, path);
}

}  // namespace gpujoin
