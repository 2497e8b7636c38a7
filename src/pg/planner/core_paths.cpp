// See core_paths.h.
#include "pg/planner/core_paths.h"

#include <utility>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/blind_loops.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/lookups.h"
#include "pg/planner/path_copy.h"
#include "pg/planner/search_bounds.h"

extern "C" {
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

void exchange(RelOptInfo* rel, CorePaths* core) {
    std::swap(rel->pathlist, core->pathlist);
    std::swap(rel->partial_pathlist, core->partial_pathlist);
    std::swap(rel->cheapest_startup_path, core->cheapest_startup_path);
    std::swap(rel->cheapest_total_path, core->cheapest_total_path);
    std::swap(rel->cheapest_unique_path, core->cheapest_unique_path);
    std::swap(rel->cheapest_parameterized_paths, core->cheapest_parameterized_paths);
}

// What a search for core's own plan has found, of all pairs up to this one. Copies, since core frees what the
// next pair ousts.
struct FoundPaths {
    Relids outer;
    Relids inner;
    JoinType jointype;
    List* pathlist;
    List* partial_pathlist;
};

// known: of the pair before, most of which are the same.
List* copies_of(const List* paths, List* known) {
    List* copies = NIL;
    int next = 0;
    int same = 0;
    ListCell* cell;
    foreach (cell, paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        Path* copy = nullptr;
        for (int i = next; !copy && i < list_length(known); i++) {
            auto* other = static_cast<Path*>(list_nth(known, i));
            if (!is_copy_of(other, path)) continue;
            copy = other;
            next = i + 1;
            same++;
        }
        if (!copy) copy = copy_of(path);
        if (copy) copies = lappend(copies, copy);
    }
    if (same < list_length(copies) || same < list_length(known)) return copies;
    list_free(copies);
    return known;
}

// For each pair of the relation.
const List* all_found(PlannerInfo* root, const RelOptInfo* joinrel) {
    const RelOptInfo* rel = found_by_core(root, joinrel->relids);
    const RelationNotes* notes = rel ? find_notes(rel) : nullptr;
    return notes ? notes->found : NIL;
}

// With the pair of this number of the relation's. Both searches have them in the same order.
const FoundPaths* found_for(const JoinPair& pair, int number) {
    const List* all = all_found(pair.root, pair.joinrel);
    if (number >= list_length(all)) return nullptr;
    const auto* found = static_cast<const FoundPaths*>(list_nth(all, number));
    const bool is_same = found->jointype == pair.jointype && bms_equal(found->outer, pair.outer->relids) &&
                         bms_equal(found->inner, pair.inner->relids);
    return is_same ? found : nullptr;
}

// They are the relation's then, not those of the other search.
List* copies_for(RelOptInfo* joinrel, const List* paths) {
    List* copies = NIL;
    ListCell* cell;
    foreach (cell, paths) {
        Path* copy = copy_of(static_cast<const Path*>(lfirst(cell)));
        copy->parent = joinrel;
        copies = lappend(copies, copy);
    }
    return copies;
}

bool take_found(const JoinPair& pair, int number, CorePaths* core) {
    const FoundPaths* found = found_for(pair, number);
    if (!found) return false;
    core->pathlist = copies_for(pair.joinrel, found->pathlist);
    core->partial_pathlist = copies_for(pair.joinrel, found->partial_pathlist);
    return true;
}

CorePaths* noted(const RelOptInfo* rel) {
    const RelationNotes* notes = find_notes(rel);
    return notes ? notes->core : nullptr;
}

// As the search for an order of joins does with a relation when all its paths are there. In the relation's
// memory: a join that is an item of a larger search by GEQO lives longer than what that tries.
void complete(PlannerInfo* root, RelOptInfo* rel, CorePaths* core) {
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
    exchange(rel, core);
    if (!IS_OTHER_REL(rel)) generate_useful_gather_paths(root, rel, false);
    set_cheapest(rel);
    exchange(rel, core);
    core->is_complete = true;
    MemoryContextSwitchTo(before);
}

CorePaths* ensure_core_paths(RelOptInfo* joinrel);

// Core's own paths of an input. nullptr: those that it has.
CorePaths* core_paths_of_input(PlannerInfo* root, RelOptInfo* rel) {
    const RelationNotes* notes = find_notes(rel);
    if (!notes || !notes->differs) return nullptr;
    CorePaths* core = ensure_core_paths(rel);
    if (core->pathlist != NIL && !core->is_complete) complete(root, rel, core);
    return core;
}

bool is_missing(const RelOptInfo* rel, const CorePaths* core) {
    return core ? core->pathlist == NIL : rel->cheapest_total_path == nullptr;
}

void follow_core_paths(const JoinPair& pair, CorePaths* core) {
    CorePaths* outer = core_paths_of_input(pair.root, pair.outer);
    CorePaths* inner = core_paths_of_input(pair.root, pair.inner);
    if (is_missing(pair.outer, outer) || is_missing(pair.inner, inner)) return;
    if (outer) exchange(pair.outer, outer);
    if (inner) exchange(pair.inner, inner);
    exchange(pair.joinrel, core);
    add_core_paths(pair);
    replace_blind_loops(pair);
    exchange(pair.joinrel, core);
    if (inner) exchange(pair.inner, inner);
    if (outer) exchange(pair.outer, outer);
}

// In the relation's memory, too.
CorePaths* ensure_core_paths(RelOptInfo* joinrel) {
    if (CorePaths* known = noted(joinrel)) return known;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(joinrel));
    auto* core = zeroed<CorePaths>();
    RelationNotes* notes = make_notes(joinrel);
    notes->wants_core = true;
    notes->core = core;
    core->pathlist = notes->foreign;
    const List* pairs = notes->pairs;
    const int last = list_length(pairs) - 1;
    ListCell* cell;
    if (last < 0 || !take_found(*static_cast<const JoinPair*>(list_nth(pairs, last)), last, core))
        foreach (cell, pairs) follow_core_paths(*static_cast<const JoinPair*>(lfirst(cell)), core);
    MemoryContextSwitchTo(before);
    return core;
}

// What is noted outlives the call. Of a join of partitions it is freed.
SpecialJoinInfo* lasting_copy(const SpecialJoinInfo* sjinfo, const RelOptInfo* joinrel) {
    if (IS_OTHER_REL(joinrel)) return static_cast<SpecialJoinInfo*>(copyObjectImpl(sjinfo));
    auto* copy = unset<SpecialJoinInfo>();
    *copy = *sjinfo;
    return copy;
}

void add_pair(RelationNotes* notes, const JoinPair& pair) {
    auto* copy = unset<JoinPair>();
    *copy = pair;
    const JoinPair* last = notes->pairs == NIL ? nullptr : static_cast<const JoinPair*>(llast(notes->pairs));
    const bool is_turned = last && last->outer == pair.inner && last->inner == pair.outer;
    copy->sjinfo = is_turned ? last->sjinfo : lasting_copy(pair.sjinfo, pair.joinrel);
    notes->pairs = lappend(notes->pairs, copy);
}

// A foreign data wrapper is asked for joins on its server once for each relation.
List* foreign_paths_of(const RelOptInfo* joinrel) {
    List* copies = NIL;
    ListCell* cell;
    foreach (cell, joinrel->pathlist) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (IsA(path, ForeignPath)) copies = lappend(copies, copy_of(path));
    }
    return copies;
}

bool is_ours(const Path* path) {
    return is_gpu_join(path) || IsA(path, AppendPath);  // which is above one of ours (row_identity.h)
}

// Whether a relation has a path still, or one that is as good.
bool has_equal(const List* paths, const Path* path) {
    ListCell* cell;
    foreach (cell, paths) {
        const auto* other = static_cast<const Path*>(lfirst(cell));
        if (other->total_cost == path->total_cost && other->startup_cost == path->startup_cost &&
            other->pathkeys == path->pathkeys && other->parallel_safe >= path->parallel_safe &&
            has_disabled_nodes(other) == has_disabled_nodes(path) &&
            bms_equal(PATH_REQ_OUTER(other), PATH_REQ_OUTER(path)))
            return true;
    }
    return false;
}

bool has_ours(const List* paths) {
    ListCell* cell;
    foreach (cell, paths)
        if (is_ours(static_cast<const Path*>(lfirst(cell)))) return true;
    return false;
}

bool has_loop(const List* paths) {
    ListCell* cell;
    foreach (cell, paths)
        if (IsA(lfirst(cell), NestPath)) return true;
    return false;
}

// Nothing is to be found out of relations without a path of ours in them or above.
void judge_pairs(RelationNotes* notes) {
    const int count = list_length(notes->pairs);
    while (notes->judged_pairs < count) {
        const auto* pair = static_cast<const JoinPair*>(list_nth(notes->pairs, notes->judged_pairs++));
        for (const RelOptInfo* input : {pair->outer, pair->inner}) {
            RelationNotes* below = find_notes(input);
            if (!below || below->pairs == NIL) continue;
            judge_pairs(below);
            notes->wants_core |= below->wants_core;
            notes->is_above_loops |=
                below->is_above_loops || has_loop(input->pathlist) || has_loop(input->partial_pathlist);
        }
        notes->wants_core = notes->wants_core || may_look_up(*pair);
    }
}

void make_core_paths_if_wanted(RelOptInfo* joinrel, RelationNotes* notes) {
    if (!notes->differs) return;
    judge_pairs(notes);
    if (notes->wants_core) ensure_core_paths(joinrel);
}

}  // namespace

bool has_differing(const RelOptInfo* rel) {
    const RelationNotes* notes = find_notes(rel);
    return notes && notes->differs;
}

void note_pair(const JoinPair& pair) {
    RelationNotes* notes = make_notes(pair.joinrel);
    if (notes->pairs == NIL) notes->foreign = foreign_paths_of(pair.joinrel);
    add_pair(notes, pair);
    notes->differs = notes->differs || has_differing(pair.outer) || has_differing(pair.inner);
    if (!notes->core)
        make_core_paths_if_wanted(pair.joinrel, notes);
    else if (!take_found(pair, list_length(notes->pairs) - 1, notes->core))
        follow_core_paths(pair, notes->core);
}

void note_found(const JoinPair& pair) {
    RelationNotes* notes = make_notes(pair.joinrel);
    const auto* last = notes->found == NIL ? nullptr : static_cast<const FoundPaths*>(llast(notes->found));
    auto* found = unset<FoundPaths>();
    *found = {pair.outer->relids, pair.inner->relids, pair.jointype,
              copies_of(pair.joinrel->pathlist, last ? last->pathlist : NIL),
              copies_of(pair.joinrel->partial_pathlist, last ? last->partial_pathlist : NIL)};
    notes->found = lappend(notes->found, found);
}

bool has_more_pairs(PlannerInfo* root, const RelOptInfo* joinrel) {
    return list_length(find_notes(joinrel)->pairs) < list_length(all_found(root, joinrel));
}

void note_ours(RelOptInfo* joinrel) {
    RelationNotes* notes = make_notes(joinrel);
    notes->differs = notes->differs || has_ours(joinrel->pathlist) || has_ours(joinrel->partial_pathlist);
    make_core_paths_if_wanted(joinrel, notes);
}

void want_core_paths(RelOptInfo* joinrel) {
    RelationNotes* notes = make_notes(joinrel);
    notes->wants_core = true;
    make_core_paths_if_wanted(joinrel, notes);
}

void restore_core_paths(RelOptInfo* joinrel) {
    const CorePaths* core = noted(joinrel);
    if (!core) return;
    ListCell* cell;
    foreach (cell, core->pathlist) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        bool is_plain = !path->param_info && path->pathkeys == NIL;
        if (is_plain && !passes_precheck(joinrel, path->startup_cost, path->total_cost)) continue;
        if (has_equal(joinrel->pathlist, path)) continue;
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
