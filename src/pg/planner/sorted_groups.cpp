// See sorted_groups.h.
#include "pg/planner/sorted_groups.h"

#include "pg/compat.h"
#include "pg/planner/cost.h"

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

}  // namespace

Path* sort_groups(PlannerInfo* root, Path* partial) {
    List* keys = root->group_pathkeys;
    if (keys == NIL || pathkeys_contained_in(keys, partial->pathkeys)) return partial;
    auto* sorted = reinterpret_cast<Path*>(create_sort_path(root, partial->parent, partial, keys, -1.0));
    const Cost comparing = kComparingTexts * count_collated(keys) * sorting_cost(partial->rows);
    sorted->startup_cost += comparing;
    sorted->total_cost += comparing;
    return sorted;
}

Path* merge_sorted_groups(PlannerInfo* root, Path* partial, double rows) {
    List* keys = root->group_pathkeys;
    if (keys == NIL) return nullptr;
    return reinterpret_cast<Path*>(create_gather_merge_path(root, partial->parent, sort_groups(root, partial),
                                                            partial->pathtarget, keys, nullptr, &rows));
}

}  // namespace gpujoin
