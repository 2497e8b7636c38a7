// See bounded_levels.h.
#include "pg/planner/bounded_levels.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/chains.h"
#include "pg/planner/cost.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/search_bounds.h"

extern "C" {
#include "optimizer/paths.h"
}

namespace gpujoin {
namespace {

// What any plan costs at least that has this in it: also a path that is looked up by, or of which each
// process runs a part, or a chain that goes on above it.
Cost least_cost_of(const RelOptInfo* rel) {
    Cost least = least_total_cost(rel->pathlist, rel->cheapest_total_path->total_cost);
    least = least_total_cost(rel->partial_pathlist, least);
    for (bool is_partial : {false, true})
        if (const Chain* chain = cheapest_chain(rel, is_partial))
            least = std::min(least, least_cost(chain->probe, chain->costs));
    return least;
}

void complete(PlannerInfo* root, RelOptInfo* rel) {
    generate_partitionwise_join_paths(root, rel);
    if (!is_of_all_relations(root, rel)) generate_useful_gather_paths(root, rel, false);
    set_cheapest(rel);
}

// What is dearer than the bound is nothing that the next levels need join; one is left to go on from.
List* without_dear_ones(const PlannerInfo* root, List* rels) {
    List* left = NIL;
    RelOptInfo* cheapest = nullptr;
    Cost least = 0;
    ListCell* cell;
    foreach (cell, rels) {
        auto* rel = static_cast<RelOptInfo*>(lfirst(cell));
        const Cost cost = least_cost_of(rel);
        if (!is_too_dear(root, cost)) left = lappend(left, rel);
        if (!cheapest || cost < least) cheapest = rel, least = cost;
    }
    return left == NIL && cheapest ? list_make1(cheapest) : left;
}

}  // namespace

RelOptInfo* search_bounded_levels(PlannerInfo* root, int levels, List* rels) {
    root->join_rel_level = zeroed<List*>(levels + 1);
    root->join_rel_level[1] = rels;
    for (int level = 2; level <= levels; level++) {
        join_search_one_level(root, level);
        ListCell* cell;
        foreach (cell, root->join_rel_level[level]) complete(root, static_cast<RelOptInfo*>(lfirst(cell)));
        if (level < levels)
            root->join_rel_level[level] = without_dear_ones(root, root->join_rel_level[level]);
    }
    const List* found = root->join_rel_level[levels];
    root->join_rel_level = nullptr;
    return found == NIL ? nullptr : static_cast<RelOptInfo*>(linitial(found));
}

}  // namespace gpujoin
