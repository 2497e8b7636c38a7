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
#include "pg/planner/relation_notes.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

constexpr double kLookupFanout = 8;

// What is compared here leaves out terms of both ways, such as a hash table's batches: lookups that are
// charged for so little more may be core's choice too.
constexpr double kNearly = 1.25;

// Lookups are charged for pages at random places, which are mostly in memory; a plan that costs still more
// than what it stands in for is another one.
constexpr double kMostOfReading = 2;

// One lookup of a range by a path whose parameters come from the outer side alone.
Cost range_lookup_cost(const Path* path) {
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

// Whether a lookup in a table is over with the first row that it finds.
bool stops_at_first(const PlannerInfo* root, const RelOptInfo* table) {
    ListCell* cell;
    foreach (cell, root->join_info_list) {
        const SpecialJoinInfo* join = lfirst_node(SpecialJoinInfo, cell);
        if ((join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI) &&
            bms_equal(join->min_righthand, table->relids))
            return true;
    }
    return false;
}

// As core does, takes the first of n rows to be found after 2 / (n + 1) of them.
Cost lookup_cost(const PlannerInfo* root, const RelOptInfo* table, const Path* lookup) {
    if (!stops_at_first(root, table)) return lookup->total_cost;
    double scanned = std::min(1.0, 2.0 / (lookup->rows + 1.0));
    return lookup->startup_cost + (lookup->total_cost - lookup->startup_cost) * scanned;
}

// The least that core charges for looking up its rows for each row of `outer`.
Cost least_looping_cost(const RelOptInfo* outer, const Path* lookup, Cost each) {
    Cost cost = outer->cheapest_total_path->rows * each;
    const Path* partial = lookup->parallel_safe ? first_partial_path(outer) : nullptr;
    return partial ? std::min(cost, parallel_setup_cost + partial->rows * each) : cost;
}

RelOptInfo* find_relation(PlannerInfo* root, Relids relids) {
    int member;
    return bms_get_singleton_member(relids, &member) ? root->simple_rel_array[member]
                                                     : find_join_rel(root, relids);
}

// Whether core would look rows of a table up for those of `outer`, which has all that lookups ask for.
bool looks_up(const PlannerInfo* root, const RelOptInfo* outer, const RelOptInfo* table) {
    if (!outer || !outer->cheapest_total_path) return false;
    Cost hashing = kNearly * least_hashing_cost(table);
    ListCell* cell;
    foreach (cell, table->cheapest_parameterized_paths) {
        const Path* lookup = static_cast<Path*>(lfirst(cell));
        Relids asked = PATH_REQ_OUTER(lookup);
        if (!asked || !bms_is_subset(asked, outer->relids) || has_disabled_nodes(lookup)) continue;
        if (least_looping_cost(outer, lookup, lookup_cost(root, table, lookup)) < hashing) return true;
    }
    return false;
}

bool has_lookups(const RelOptInfo* table) {
    return table && list_length(table->cheapest_parameterized_paths) >= 2;
}

// Adds the tables that are looked up for rows of a relation alone: whatever is joined first, lookups may come
// before it.
Relids lookups_for_relations(PlannerInfo* root, const RelOptInfo* rel) {
    Relids found = nullptr;
    for (int member = -1; (member = bms_next_member(rel->relids, member)) >= 0;) {
        const RelOptInfo* table = root->simple_rel_array[member];
        if (!has_lookups(table)) continue;
        ListCell* cell;
        foreach (cell, table->cheapest_parameterized_paths) {
            Relids asked = PATH_REQ_OUTER(static_cast<Path*>(lfirst(cell)));
            if (asked && looks_up(root, find_relation(root, asked), table))
                found = bms_add_member(found, member);
        }
    }
    return found;
}

// The tables of a join relation that core would look up, for the rows of all others or within a part of it.
Relids find_lookups(PlannerInfo* root, const RelOptInfo* rel) {
    Relids found = lookups_for_relations(root, rel);
    for (int member = -1; (member = bms_next_member(rel->relids, member)) >= 0;) {
        Relids others = bms_del_member(bms_copy(rel->relids), member);
        const RelOptInfo* part = find_relation(root, others);
        bms_free(others);
        if (!part) continue;
        const RelationNotes* notes = find_notes(part);
        if (notes) found = bms_add_members(found, notes->lookups);
        const RelOptInfo* table = root->simple_rel_array[member];
        if (has_lookups(table) && looks_up(root, part, table)) found = bms_add_member(found, member);
    }
    return found;
}

// What find_lookups() found, which is asked for again for each pair of relations that makes this one.
Relids lookups_in(PlannerInfo* root, RelOptInfo* joinrel) {
    const RelationNotes* known = find_notes(joinrel);
    if (known && known->has_lookups) return known->lookups;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(joinrel));
    Relids found = find_lookups(root, joinrel);
    MemoryContextSwitchTo(before);
    RelationNotes* notes = make_notes(joinrel);
    notes->has_lookups = true;
    notes->lookups = found;
    return found;
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

bool has_gpu_join(const Path* path) {
    if (is_gpu_join(path)) return true;
    ListCell* cell;
    foreach (cell, inputs_of(path))
        if (has_gpu_join(static_cast<Path*>(lfirst(cell)))) return true;
    return false;
}

bool is_reader(const Path* path, const RelOptInfo* table) {
    return reads_all_of(path, table) && has_gpu_join(path);
}

// The paths but those that read all of a table and have a GPU Join.
List* without_readers(List* paths, const RelOptInfo* table) {
    ListCell* cell;
    foreach (cell, paths)
        if (is_reader(static_cast<Path*>(lfirst(cell)), table)) paths = foreach_delete_current(paths, cell);
    return paths;
}

// Whether there is a path that looks a table up, and would not be the plan only because core's better ones
// have been ousted by those that are to go.
bool is_well_looked_up(const RelOptInfo* joinrel, const RelOptInfo* table) {
    Cost reading = -1, looking_up = -1;
    auto note = [](Cost* least, const Path* path) {
        *least = *least < 0 ? path->total_cost : std::min(*least, path->total_cost);
    };
    ListCell* cell;
    foreach (cell, joinrel->pathlist) {
        const Path* path = static_cast<Path*>(lfirst(cell));
        if (PATH_REQ_OUTER(path) || has_disabled_nodes(path)) continue;
        if (is_reader(path, table))
            note(&reading, path);
        else if (!reads_all_of(path, table))
            note(&looking_up, path);
    }
    return looking_up >= 0 && (reading < 0 || looking_up <= kMostOfReading * reading);
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

bool reads_what_core_looks_up(PlannerInfo* root, RelOptInfo* joinrel, const RelOptInfo* side) {
    if (!enable_nestloop) return false;
    Relids lookups = lookups_in(root, joinrel);
    for (int member = -1; (member = bms_next_member(lookups, member)) >= 0;)
        if (bms_is_member(member, side->relids) &&
            reads_all_of(side->cheapest_total_path, root->simple_rel_array[member]))
            return true;
    return false;
}

void leave_to_lookups(PlannerInfo* root, RelOptInfo* joinrel) {
    if (!enable_nestloop) return;
    Relids lookups = lookups_in(root, joinrel);
    for (int member = -1; (member = bms_next_member(lookups, member)) >= 0;) {
        const RelOptInfo* table = root->simple_rel_array[member];
        if (!is_well_looked_up(joinrel, table)) continue;
        joinrel->pathlist = without_readers(joinrel->pathlist, table);
        joinrel->partial_pathlist = without_readers(joinrel->partial_pathlist, table);
    }
}

}  // namespace gpujoin
