// Costs are blind to two things about lookups.
//
// Ranges. Core takes a range between two columns to be true for a third of all pairs, and BETWEEN for a
// ninth. So each lookup of a band in an index of a million rows is charged for 100,000 of them, where it
// finds a handful, and no nested loop ever wins against a GPU Join by cost. But where few rows look up a
// large table, the loop is faster: it does not read that table at all. Whoever made an index for a range is
// taken to find kLookupFanout rows in it at a time; then it is compared with what a GPU Join takes without
// the results, which both have to give.
//
// Pages in memory. Core charges each row that is looked up for a page at random_page_cost, 4 units, where it
// takes half a microsecond to two if the page is in memory, as it is in a database of the size that one can
// hope to be quick with. What is read in sequence is charged 1 unit for a page of some hundred rows, which is
// about what it takes. So a GPU Join that reads a million rows may look cheaper than 10,000 lookups, and
// takes three times as long. But core weighs its lookups against its own reading by the same costs: where it
// would look up, the lookups are the few that win whether or not pages are in memory, and tables are left to
// them.
#include "pg/planner/lookups.h"

#include <algorithm>

#include "pg/compat.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
}

namespace gpujoin {
namespace {

constexpr double kLookupFanout = 8;

// What is compared here leaves out terms of both ways, such as a semijoin's first match and a hash table's
// batches: lookups that are charged for so little more may be core's choice too.
constexpr double kNearly = 1.25;

// One lookup by a path whose parameters come from the outer side alone.
Cost lookup_cost(const Path* path) {
    double found = std::min(1.0, kLookupFanout / path->rows);
    return path->startup_cost + (path->total_cost - path->startup_cost) * found;
}

// Of core's reading all rows of a table for a hash join, or its part of them.
Cost hashing_cost(const Path* path) {
    return path->total_cost + path->rows * cpu_operator_cost;
}

Path* first_partial_path(const RelOptInfo* rel) {
    return rel->partial_pathlist ? static_cast<Path*>(linitial(rel->partial_pathlist)) : nullptr;
}

// The least that core charges for joining rows of this table without an index, by one process or by several.
Cost least_hashing_cost(const RelOptInfo* table) {
    Cost cost = hashing_cost(table->cheapest_total_path);
    const Path* partial = first_partial_path(table);
    return partial ? std::min(cost, parallel_setup_cost + hashing_cost(partial)) : cost;
}

// The least that core charges for looking up its rows for each row of `outer`.
Cost least_looping_cost(const RelOptInfo* outer, const Path* lookup) {
    Cost cost = outer->cheapest_total_path->rows * lookup->total_cost;
    const Path* partial = lookup->parallel_safe ? first_partial_path(outer) : nullptr;
    return partial ? std::min(cost, parallel_setup_cost + partial->rows * lookup->total_cost) : cost;
}

RelOptInfo* find_relation(PlannerInfo* root, Relids relids) {
    int member;
    return bms_get_singleton_member(relids, &member) ? root->simple_rel_array[member]
                                                     : find_join_rel(root, relids);
}

bool would_be_looked_up(PlannerInfo* root, const RelOptInfo* table) {
    Cost hashing = kNearly * least_hashing_cost(table);
    ListCell* cell;
    foreach (cell, table->cheapest_parameterized_paths) {
        const Path* lookup = static_cast<Path*>(lfirst(cell));
        if (!PATH_REQ_OUTER(lookup) || has_disabled_nodes(lookup)) continue;
        const RelOptInfo* outer = find_relation(root, PATH_REQ_OUTER(lookup));
        if (outer && outer->cheapest_total_path && least_looping_cost(outer, lookup) < hashing) return true;
    }
    return false;
}

// The inputs of a path that passes on what it reads; NIL for one that reads a relation itself.
List* inputs_of(const Path* path) {
    switch (nodeTag(path)) {
        case T_NestPath:
        case T_MergePath:
        case T_HashPath: {
            const JoinPath* join = reinterpret_cast<const JoinPath*>(path);
            return list_make2(join->outerjoinpath, join->innerjoinpath);
        }
        case T_CustomPath:
            return reinterpret_cast<const CustomPath*>(path)->custom_paths;
        case T_MaterialPath:
            return list_make1(reinterpret_cast<const MaterialPath*>(path)->subpath);
        case T_MemoizePath:
            return list_make1(reinterpret_cast<const MemoizePath*>(path)->subpath);
        case T_UniquePath:
            return list_make1(reinterpret_cast<const UniquePath*>(path)->subpath);
        case T_GatherPath:
            return list_make1(reinterpret_cast<const GatherPath*>(path)->subpath);
        case T_GatherMergePath:
            return list_make1(reinterpret_cast<const GatherMergePath*>(path)->subpath);
        case T_SortPath:
            return list_make1(reinterpret_cast<const SortPath*>(path)->subpath);
        case T_ProjectionPath:
            return list_make1(reinterpret_cast<const ProjectionPath*>(path)->subpath);
        default:
            return NIL;
    }
}

bool reads_all_of(const Path* path, const RelOptInfo* table) {
    if (!bms_is_subset(table->relids, path->parent->relids)) return false;
    if (path->parent == table) return PATH_REQ_OUTER(path) == nullptr;
    ListCell* cell;
    foreach (cell, inputs_of(path))
        if (reads_all_of(static_cast<Path*>(lfirst(cell)), table)) return true;
    return false;
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
        if (outer_path->total_cost + outer_path->rows * lookup_cost(path) < without_results) return true;
    }
    return false;
}

bool reads_what_core_looks_up(PlannerInfo* root, const RelOptInfo* side) {
    if (!enable_nestloop) return false;
    for (int member = -1; (member = bms_next_member(side->relids, member)) >= 0;) {
        const RelOptInfo* table = root->simple_rel_array[member];
        if (!table || list_length(table->cheapest_parameterized_paths) < 2) continue;
        if (would_be_looked_up(root, table) && reads_all_of(side->cheapest_total_path, table)) return true;
    }
    return false;
}

}  // namespace gpujoin
