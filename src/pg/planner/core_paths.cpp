// See core_paths.h.
#include "pg/planner/core_paths.h"

#include <utility>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/path_copy.h"

extern "C" {
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

bool is_made_for_core;

List* copies_of(const List* paths) {
    List* result = NIL;
    ListCell* cell;
    foreach (cell, paths)
        if (Path* copy = copy_of(static_cast<const Path*>(lfirst(cell)))) result = lappend(result, copy);
    return result;
}

void exchange(RelOptInfo* rel, CorePaths* core) {
    std::swap(rel->pathlist, core->pathlist);
    std::swap(rel->partial_pathlist, core->partial_pathlist);
    std::swap(rel->cheapest_startup_path, core->cheapest_startup_path);
    std::swap(rel->cheapest_total_path, core->cheapest_total_path);
    std::swap(rel->cheapest_unique_path, core->cheapest_unique_path);
    std::swap(rel->cheapest_parameterized_paths, core->cheapest_parameterized_paths);
}

CorePaths* noted(const RelOptInfo* rel) {
    const RelationNotes* notes = find_notes(rel);
    return notes ? notes->core : nullptr;
}

// As the search for an order of joins does with a relation when all its paths are there.
void complete(PlannerInfo* root, RelOptInfo* rel, CorePaths* core) {
    exchange(rel, core);
    if (!IS_OTHER_REL(rel)) generate_useful_gather_paths(root, rel, false);
    set_cheapest(rel);
    exchange(rel, core);
    core->is_complete = true;
}

// Whether core has no path for an input, which it has none to join with then.
bool is_missing(PlannerInfo* root, RelOptInfo* rel, CorePaths* core) {
    if (!core) return rel->cheapest_total_path == nullptr;
    if (core->pathlist == NIL) return true;
    if (!core->is_complete) complete(root, rel, core);
    return false;
}

// Whether core's own paths of a relation within this one are others than those that it has.
bool contains_differing(const PlannerInfo* root, const RelOptInfo* joinrel) {
    for (int member = -1; (member = bms_next_member(joinrel->relids, member)) >= 0;) {
        const RelOptInfo* first = root->simple_rel_array[member];
        const RelationNotes* notes = first ? find_notes(first) : nullptr;
        if (!notes) continue;
        ListCell* cell;
        foreach (cell, notes->differing)
            if (bms_is_subset(static_cast<Relids>(lfirst(cell)), joinrel->relids)) return true;
    }
    return false;
}

// With the first of its base relations, which lives longest.
void note_differing(const PlannerInfo* root, const RelOptInfo* joinrel) {
    if (contains_differing(root, joinrel)) return;
    RelOptInfo* first = root->simple_rel_array[bms_next_member(joinrel->relids, -1)];
    if (!first) return;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(first));
    RelationNotes* notes = make_notes(first);
    notes->differing = lappend(notes->differing, bms_copy(joinrel->relids));
    MemoryContextSwitchTo(before);
}

CorePaths* begin(RelOptInfo* joinrel) {
    auto* core = zeroed_in<CorePaths>(GetMemoryChunkContext(joinrel));
    make_notes(joinrel)->core = core;
    return core;
}

bool is_ours(const Path* path) {
    return is_gpu_join(path) || IsA(path, AppendPath);  // which is above one of ours (row_identity.h)
}

bool has_ours(const List* paths) {
    ListCell* cell;
    foreach (cell, paths)
        if (is_ours(static_cast<const Path*>(lfirst(cell)))) return true;
    return false;
}

}  // namespace

bool are_core_paths_made() {
    return is_made_for_core;
}

void make_core_paths(const JoinPair& pair, CorePaths* paths) {
    exchange(pair.joinrel, paths);
    is_made_for_core = true;
    PG_TRY();
    {
        add_paths_to_joinrel(pair.root, pair.joinrel, pair.outer, pair.inner, pair.jointype,
                             pair.extra->sjinfo, pair.extra->restrictlist);
    }
    PG_FINALLY();
    { is_made_for_core = false; }
    PG_END_TRY();
    exchange(pair.joinrel, paths);
}

void follow_core_paths(const JoinPair& pair) {
    CorePaths* core = noted(pair.joinrel);
    if (!core && contains_differing(pair.root, pair.joinrel)) core = begin(pair.joinrel);
    if (!core) return;
    CorePaths* outer = noted(pair.outer);
    CorePaths* inner = noted(pair.inner);
    if (is_missing(pair.root, pair.outer, outer) || is_missing(pair.root, pair.inner, inner)) return;
    if (outer) exchange(pair.outer, outer);
    if (inner) exchange(pair.inner, inner);
    make_core_paths(pair, core);
    if (inner) exchange(pair.inner, inner);
    if (outer) exchange(pair.outer, outer);
}

CorePaths* copy_core_paths(const RelOptInfo* joinrel) {
    if (noted(joinrel)) return nullptr;
    auto* core = zeroed_in<CorePaths>(GetMemoryChunkContext(const_cast<RelOptInfo*>(joinrel)));
    core->pathlist = copies_of(joinrel->pathlist);
    core->partial_pathlist = copies_of(joinrel->partial_pathlist);
    return core;
}

void keep_core_paths(const PlannerInfo* root, RelOptInfo* joinrel, CorePaths* paths) {
    if (!paths || (!has_ours(joinrel->pathlist) && !has_ours(joinrel->partial_pathlist))) return;
    note_differing(root, joinrel);
    make_notes(joinrel)->core = paths;
}

void restore_core_paths(RelOptInfo* joinrel) {
    const CorePaths* core = noted(joinrel);
    if (!core) return;
    ListCell* cell;
    foreach (cell, core->pathlist) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        bool is_plain = !path->param_info && path->pathkeys == NIL;
        if (is_plain && !passes_precheck(joinrel, path->startup_cost, path->total_cost)) continue;
        if (Path* copy = copy_of(path)) add_path(joinrel, copy);
    }
    foreach (cell, core->partial_pathlist) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (Path* copy = copy_of(path)) add_partial_path(joinrel, copy);
    }
}

const CorePaths* core_paths_of(const RelOptInfo* joinrel) {
    return noted(joinrel);
}

}  // namespace gpujoin
