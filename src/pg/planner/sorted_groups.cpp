// See sorted_groups.h.
#include "pg/planner/sorted_groups.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/cost.h"
#include "pg/planner/path_facts.h"

extern "C" {
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
}

namespace gpujoin {

namespace {

// Of comparing two texts by a locale's rules, next to what core charges for a comparison. Most are of keys
// that are the same up to the one before, or altogether.
constexpr double kComparingTexts = 2;

int count_collated(const List* pathkeys) {
    int count = 0;
    ListCell* cell;
    foreach (cell, pathkeys) {
        const Oid collation = lfirst_node(PathKey, cell)->pk_eclass->ec_collation;
        if (OidIsValid(collation) && !orders_by_bytes(collation)) count++;
    }
    return count;
}

Cost comparing_cost(const List* pathkeys, double rows) {
    return kComparingTexts * count_collated(pathkeys) * sorting_cost(rows);
}

template <typename Groups>
Path* copy_over(const Path* path, Path* input) {
    auto* copy = unset<Groups>();
    *copy = *reinterpret_cast<const Groups*>(path);
    copy->subpath = input;
    return &copy->path;
}

// A path of groups over another input of the same rows.
Path* copy_over_input(const Path* path, Path* input) {
    const Path* before = input_of_groups(path);
    Path* copy = IsA(path, AggPath)           ? copy_over<AggPath>(path, input)
                 : IsA(path, GroupPath)       ? copy_over<GroupPath>(path, input)
                 : IsA(path, UpperUniquePath) ? copy_over<UpperUniquePath>(path, input)
                                              : copy_over<GroupingSetsPath>(path, input);
    copy->parallel_safe = copy->parallel_safe && input->parallel_safe;
    copy->startup_cost += input->startup_cost - before->startup_cost;
    copy->total_cost += input->total_cost - before->total_cost;
    return copy;
}

// Rows that several processes have sorted a part of each, in the order in which the path's groups come.
Path* find_merged(const RelOptInfo* rel, const Path* groups) {
    if (IsA(groups, AggPath) && reinterpret_cast<const AggPath*>(groups)->aggstrategy != AGG_SORTED)
        return nullptr;
    ListCell* cell;
    foreach (cell, rel->pathlist) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (!IsA(path, GatherMergePath) || PATH_REQ_OUTER(path) || has_disabled_nodes(path)) continue;
        if (pathkeys_contained_in(input_of_groups(groups)->pathkeys, path->pathkeys)) return path;
    }
    return nullptr;
}

bool sorts_rows_of_gpu_join(const Path* path) {
    const Path* input = input_of_groups(path);
    if (!input || !IsA(input, SortPath)) return false;
    const PathFacts facts = quick_facts_of(input);
    return facts.has_gpu_join && !facts.gathers;
}

Path* over_merged(const List* pathkeys, const Path* path, Path* merged) {
    Path* copy = copy_over_input(path, merged);
    const int workers = reinterpret_cast<const GatherMergePath*>(merged)->num_workers;
    const Cost comparing = comparing_cost(pathkeys, merged->rows / parallel_shares(workers));
    copy->startup_cost += comparing;
    copy->total_cost += comparing;
    return copy;
}

}  // namespace

// Put in again, as their list is in the order of costs. What is merged may have been left out, as dearer.
void charge_for_comparing(const List* pathkeys, const RelOptInfo* input, RelOptInfo* grouped) {
    if (count_collated(pathkeys) == 0) return;
    List* charged = NIL;
    ListCell* cell;
    foreach (cell, grouped->pathlist) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (!sorts_rows_of_gpu_join(path)) continue;
        const Cost comparing = comparing_cost(pathkeys, input_of_groups(path)->rows);
        if (Path* merged = find_merged(input, path))
            charged = lappend(charged, over_merged(pathkeys, path, merged));
        path->startup_cost += comparing;
        path->total_cost += comparing;
        charged = lappend(charged, path);
        grouped->pathlist = foreach_delete_current(grouped->pathlist, cell);
    }
    foreach (cell, charged) add_path(grouped, static_cast<Path*>(lfirst(cell)));
}

Path* sort_groups(PlannerInfo* root, List* pathkeys, Path* partial) {
    if (pathkeys == NIL || pathkeys_contained_in(pathkeys, partial->pathkeys)) return partial;
    auto* sorted = reinterpret_cast<Path*>(create_sort_path(root, partial->parent, partial, pathkeys, -1.0));
    const Cost comparing = comparing_cost(pathkeys, partial->rows);
    sorted->startup_cost += comparing;
    sorted->total_cost += comparing;
    return sorted;
}

Path* merge_sorted_groups(PlannerInfo* root, List* pathkeys, Path* partial, double rows) {
    if (pathkeys == NIL) return nullptr;
    return reinterpret_cast<Path*>(create_gather_merge_path(root, partial->parent,
                                                            sort_groups(root, pathkeys, partial),
                                                            partial->pathtarget, pathkeys, nullptr, &rows));
}

}  // namespace gpujoin
