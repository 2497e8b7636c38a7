// See blind_loops.h. Core expects a row or two of what it has no statistics of, such as the rows of a common
// table expression that meet three conditions, and then chooses a loop to save the hash table of a row. Where
// a thousand rows come the inner side is read a thousand times; a join of four such relations has taken more
// than a minute where hash joins take as long as it takes to read them. So of two paths of about the same
// cost the one is taken that takes no longer than that however wrong the estimates are.
//
// Loops over an index are not meant: each run of their inner side reads few rows.
#include "pg/planner/blind_loops.h"

#include <utility>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/core_alone.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/cost.h"
#include "pg/planner/path_copy.h"
#include "pg/planner/planned_loops.h"
#include "pg/planner/relation_notes.h"
#include "pg/planner/search_bounds.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
}

namespace gpujoin {
namespace {

// How much the other path may cost beyond the loop.
constexpr double kHardly = 1.01;
constexpr double kFewTuples = 20;

bool has_equality(const List* restrictlist) {
    ListCell* cell;
    foreach (cell, restrictlist) {
        const auto* clause = lfirst_node(RestrictInfo, cell);
        if (clause->can_join && OidIsValid(clause->hashjoinoperator)) return true;
    }
    return false;
}

// To read so few rows takes hardly longer than to look in a hash table. That there are so few is known of a
// table alone, which has no heirs and lies here.
bool is_small(const PlannerInfo* root, const RelOptInfo* rel) {
    return rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION && !rel->fdwroutine &&
           !root->simple_rte_array[rel->relid]->inh && rel->pages <= 1 && rel->tuples <= kFewTuples;
}

bool is_blind_loop(const PlannerInfo* root, const Path* path) {
    if (!IsA(path, NestPath) || PATH_REQ_OUTER(path)) return false;
    const auto* loop = reinterpret_cast<const JoinPath*>(path);
    if (is_small(root, loop->innerjoinpath->parent)) return false;
    return path->total_cost >= kLeastBlindLoop && !is_disabled(path) &&
           !PATH_REQ_OUTER(loop->innerjoinpath) && has_equality(loop->joinrestrictinfo) &&
           !is_too_dear(root, path->total_cost);
}

// Whether rows that nobody asks for are left to be found, by core's estimate.
bool is_cut_short(const PlannerInfo* root, const RelOptInfo* joinrel) {
    const double fraction = root->tuple_fraction;
    return fraction > 0 && (fraction < 1 || fraction < joinrel->rows);
}

bool is_of(const JoinPair& pair, const JoinPath* loop) {
    return pair.outer == loop->outerjoinpath->parent && pair.inner == loop->innerjoinpath->parent;
}

const JoinPair* pair_of(const RelationNotes* notes, const JoinPath* loop) {
    ListCell* cell;
    const List* pairs = notes->pairs;
    foreach (cell, pairs) {
        const auto* pair = static_cast<const JoinPair*>(lfirst(cell));
        if (is_of(*pair, loop)) return pair;
    }
    return nullptr;
}

void add(RelOptInfo* joinrel, Path* path, bool is_partial) {
    if (is_partial)
        add_partial_path(joinrel, path);
    else
        add_path(joinrel, path);
}

struct PathLists {
    List* serial;
    List* partial;
};

// Of one pair, made once: its inputs have all their paths when it is tried.
struct HashJoins {
    const JoinPair* pair;
    PathLists paths;
};

void exchange(RelOptInfo* joinrel, PathLists* lists) {
    std::swap(joinrel->pathlist, lists->serial);
    std::swap(joinrel->partial_pathlist, lists->partial);
}

// Of the outer side hash joins take no others. Core would try loops over all, though they are disabled.
PathLists cheapest_paths(const RelOptInfo* rel) {
    return {list_make1(rel->cheapest_total_path),
            rel->partial_pathlist == NIL ? NIL : list_make1(linitial(rel->partial_pathlist))};
}

// Core's for the pair, as if there were no other ones.
PathLists paths_by_hash(const JoinPair& pair) {
    PathLists lists = {};
    PathLists outer = cheapest_paths(pair.outer);
    const bool loops = enable_nestloop, merges = enable_mergejoin;
    exchange(pair.joinrel, &lists);
    exchange(pair.outer, &outer);
    enable_nestloop = enable_mergejoin = false;
    PG_TRY();
    { add_core_paths(pair); }
    PG_FINALLY();
    {
        enable_nestloop = loops;
        enable_mergejoin = merges;
        exchange(pair.outer, &outer);
        exchange(pair.joinrel, &lists);
    }
    PG_END_TRY();
    return lists;
}

List* hash_joins_of(const List* paths) {
    List* found = NIL;
    ListCell* cell;
    foreach (cell, paths) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (IsA(path, HashPath) && !PATH_REQ_OUTER(path) && !has_disabled_nodes(path))
            found = lappend(found, path);
    }
    return found;
}

PathLists hash_joins_of(const JoinPair& pair) {
    const PathLists made = paths_by_hash(pair);
    return {hash_joins_of(made.serial), hash_joins_of(made.partial)};
}

const PathLists* noted_hash_joins(RelationNotes* notes, const JoinPair* pair) {
    ListCell* cell;
    foreach (cell, notes->hash_joins) {
        const auto* known = static_cast<const HashJoins*>(lfirst(cell));
        if (known->pair == pair) return &known->paths;
    }
    auto* joins = unset<HashJoins>();
    *joins = {pair, hash_joins_of(*pair)};
    notes->hash_joins = lappend(notes->hash_joins, joins);
    return &joins->paths;
}

// Those of the list that cost hardly more than the loop, in its order.
List* about_as_cheap(const List* paths, const Path* loop) {
    const Cost sorting = loop->pathkeys == NIL ? 0 : sorting_cost(loop->rows);
    List* found = NIL;
    ListCell* cell;
    foreach (cell, paths) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (path->total_cost + sorting <= kHardly * loop->total_cost) found = lappend(found, path);
    }
    return found;
}

Path* find_blind_loop(const PlannerInfo* root, const List* paths, const List* but) {
    ListCell* cell;
    foreach (cell, paths) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (is_blind_loop(root, path) && !list_member_ptr(but, path)) return path;
    }
    return nullptr;
}

// Of the loops of one kind. Adding a path may free others of the list, so that it is searched anew each time.
// A loop that stays is not touched: among paths of about the same cost core takes the one that was there
// first. joins_of: hash joins of the pair that a loop is of; nullptr: it stays. Copies are added.
template <typename JoinsOf>
void replace(const PlannerInfo* root, RelOptInfo* joinrel, bool is_partial, JoinsOf joins_of) {
    List* judged = NIL;
    List*& paths = is_partial ? joinrel->partial_pathlist : joinrel->pathlist;
    while (Path* loop = find_blind_loop(root, paths, judged)) {
        judged = lappend(judged, loop);
        const PathLists* joins = joins_of(reinterpret_cast<const JoinPath*>(loop));
        const List* better = joins ? about_as_cheap(is_partial ? joins->partial : joins->serial, loop) : NIL;
        if (better == NIL) continue;
        note_influence();
        paths = list_delete_ptr(paths, loop);
        ListCell* cell;
        foreach (cell, better) add(joinrel, copy_of(static_cast<const Path*>(lfirst(cell))), is_partial);
    }
}

bool may_replace(const RelOptInfo* joinrel) {
    return !joinrel->fdwroutine && enable_nestloop && enable_hashjoin;
}

}  // namespace

void replace_blind_loops(const PlannerInfo* root, RelOptInfo* joinrel) {
    RelationNotes* notes = find_notes(joinrel);
    if (!notes || !may_replace(joinrel)) return;
    const auto joins_of = [&](const JoinPath* loop) -> const PathLists* {
        const JoinPair* pair = pair_of(notes, loop);
        return pair && !is_cut_short(pair->root, joinrel) ? noted_hash_joins(notes, pair) : nullptr;
    };
    for (bool is_partial : {false, true}) replace(root, joinrel, is_partial, joins_of);
}

void replace_blind_loops(const JoinPair& pair) {
    if (!may_replace(pair.joinrel) || is_cut_short(pair.root, pair.joinrel)) return;
    PathLists joins = {};
    bool is_made = false;
    const auto joins_of = [&](const JoinPath* loop) -> const PathLists* {
        if (!is_of(pair, loop)) return nullptr;
        if (!is_made) joins = hash_joins_of(pair);
        is_made = true;
        return &joins;
    };
    for (bool is_partial : {false, true}) replace(pair.root, pair.joinrel, is_partial, joins_of);
}

}  // namespace gpujoin
