// Two kinds of paths are set aside.
//
// Readers. Core charges each row that it looks up by an index for a page at random_page_cost, 4 units, where
// it takes half a microsecond to two if the page is in memory, as it is in a database of the size that one
// can hope to be quick with. What is read in sequence is charged 1 unit for a page of some hundred rows,
// which is about what it takes. So a GPU Join that reads a million rows may look cheaper than 10,000 lookups,
// and takes three times as long. But core weighs its lookups against its own reading by the same costs: where
// its own plan looks a table's rows up, they are few, and paths with a GPU Join that read all of the table
// have to be much cheaper.
//
// Loops. Above a GPU Join, which is cheap for many rows, core may look rows of a small table up rather than
// read it, to save the little that this takes. Where more rows come than were expected, the loop takes many
// times as long as all the rest. If there is a path for hardly more that does not depend on that, it is
// taken; where much is at stake, also one for somewhat more, or for clearly less than core's own plan.
//
// What is set aside comes back when the next pair of relations has been tried: it is judged by core's best
// plan, which may then be another one. Loops that are kept for want of anything better may hide other paths
// that core makes for that pair: so they wait for the last pair; where nobody knows which it is, these are
// made once more without them, unless such a path would have to cost less than its inputs to be better.
#include "pg/planner/rivals.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/cost.h"
#include "pg/planner/path_copy.h"
#include "pg/planner/path_facts.h"

extern "C" {
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/memutils.h"
}

namespace gpujoin {

// Of one kind of paths each: serial and partial ones.
struct PathsAside {
    List* readers[2];
    List* loops[2];         // also of those that stay
    GpuJoinPath safest[2];  // copies of the cheapest of ours so far that are neither
    List* kept[2];          // those that stay, for want of anything better so far
};

namespace {

// By how much lookups may be overcharged, next to reading.
constexpr double kMostOfReading = 2;

// Of how often loops are run.
constexpr double kMuchLess = 2;

// A share of a plan's cost that is not worth a risk.
constexpr double kHardly = 0.05;
// One that it is worth not to depend on how few the rows are that drive a loop; or up to so much of core's
// cost.
constexpr double kSomewhat = 0.25;
constexpr double kClearlyLess = 0.7;
// How many more of these may come than are expected: estimates of joins are wrong by that factor all too
// often.
constexpr double kManyMore = 10;

List*& paths_of(RelOptInfo* rel, bool is_partial) {
    return is_partial ? rel->partial_pathlist : rel->pathlist;
}

void add(RelOptInfo* rel, Path* path, bool is_partial) {
    if (is_partial)
        add_partial_path(rel, path);
    else
        add_path(rel, path);
}

bool is_candidate(const Path* path) {
    return !PATH_REQ_OUTER(path) && !has_disabled_nodes(path);
}

const Path* cheapest_of(const List* paths) {
    const Path* cheapest = nullptr;
    ListCell* cell;
    foreach (cell, paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (is_candidate(path) && (!cheapest || path->total_cost < cheapest->total_cost)) cheapest = path;
    }
    return cheapest;
}

Cost gathering_cost(const RelOptInfo* rel) {
    return parallel_setup_cost + parallel_tuple_cost * rel->rows;
}

// The best of core's own that gives a relation's rows to one process, or to each of several.
struct OwnPath {
    const Path* path;  // nullptr: there is none
    Cost cost;
    Relids looked_up;  // tables that it looks rows up of, where it takes more to read them
};

Relids looked_up_by(const PlannerInfo* root, const OwnPath& own) {
    Relids looked_up = bms_difference(own.path->parent->relids, facts_of(own.path).read);
    for (int table = -1; (table = bms_next_member(looked_up, table)) >= 0;) {
        const RelOptInfo* rel = root->simple_rel_array[table];
        if (!rel || rel->cheapest_total_path->total_cost <= kHardly * own.cost)
            looked_up = bms_del_member(looked_up, table);
    }
    return looked_up;
}

// Core gathers rows of a relation itself, but after its paths have been compared.
OwnPath own_of(const PlannerInfo* root, const RelOptInfo* rel, const CorePaths* core, bool is_partial) {
    const Path* partial = cheapest_of(core ? core->partial_pathlist : rel->partial_pathlist);
    const Path* serial = is_partial ? nullptr : cheapest_of(core ? core->pathlist : rel->pathlist);
    OwnPath own = {partial, partial ? partial->total_cost : 0, nullptr};
    if (!is_partial) own.cost += gathering_cost(rel);
    if (!partial || (serial && serial->total_cost <= own.cost))
        own = {serial, serial ? serial->total_cost : 0, nullptr};
    if (own.path) own.looked_up = looked_up_by(root, own);
    return own;
}

bool is_beaten(const OwnPath& own, Relids read, Cost cost) {
    return bms_overlap(own.looked_up, read) && own.cost <= kMostOfReading * cost;
}

bool is_loop(const Path* path) {
    return is_candidate(path) && has_gpu_join(path) && quick_facts_of(path).loops > 0;
}

// Unless there is one that costs as little and loops as little, in the same order.
void add_loop(List** loops, Path* loop) {
    double often = quick_facts_of(loop).loops;
    ListCell* cell;
    foreach (cell, *loops) {
        const auto* other = static_cast<const Path*>(lfirst(cell));
        if (compare_pathkeys(other->pathkeys, loop->pathkeys) != PATHKEYS_EQUAL) continue;
        double other_often = quick_facts_of(other).loops;
        if (other->total_cost <= loop->total_cost && other_often <= often) return;
        if (loop->total_cost <= other->total_cost && often <= other_often)
            *loops = foreach_delete_current(*loops, cell);
    }
    *loops = lappend(*loops, loop);
}

// Takes all of them out.
void take_loops(List** paths, List** loops) {
    ListCell* cell;
    foreach (cell, *paths) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (!is_loop(path)) continue;
        add_loop(loops, path);
        *paths = foreach_delete_current(*paths, cell);
    }
}

void take_all_loops(RelOptInfo* joinrel, PathsAside* aside) {
    for (bool is_partial : {false, true})
        take_loops(&paths_of(joinrel, is_partial), &aside->loops[is_partial]);
}

// Takes the readers out that core's own plan is to be preferred to.
List* take_readers(List** paths, const OwnPath& own) {
    List* readers = NIL;
    ListCell* cell;
    foreach (cell, *paths) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (!is_candidate(path) || !has_gpu_join(path)) continue;
        if (!is_beaten(own, facts_of(path).read, path->total_cost + risk_of(path))) continue;
        readers = lappend(readers, path);
        *paths = foreach_delete_current(*paths, cell);
    }
    return readers;
}

PathsAside* aside_of(RelOptInfo* joinrel) {
    RelationNotes* notes = make_notes(joinrel);
    if (!notes->aside) notes->aside = zeroed_in<PathsAside>(GetMemoryChunkContext(joinrel));
    return notes->aside;
}

bool is_noted(const GpuJoinPath* path) {
    return path->chain != nullptr;
}

void note_safest(GpuJoinPath* noted, const Path* path) {
    if (!is_gpu_join(path) || !is_candidate(path)) return;
    if (is_noted(noted) && noted->path.path.total_cost <= path->total_cost) return;
    if (quick_facts_of(path).loops > 0) return;
    *noted = *reinterpret_cast<const GpuJoinPath*>(path);
}

void note_safest(PathsAside* aside, const RelOptInfo* joinrel) {
    ListCell* cell;
    foreach (cell, joinrel->pathlist) note_safest(&aside->safest[false], static_cast<Path*>(lfirst(cell)));
    foreach (cell, joinrel->partial_pathlist)
        note_safest(&aside->safest[true], static_cast<Path*>(lfirst(cell)));
}

// To be compared with the loops that have been taken out.
void bring_safest_back(RelOptInfo* joinrel, const PathsAside* aside) {
    for (bool is_partial : {false, true})
        if (aside->loops[is_partial] != NIL && is_noted(&aside->safest[is_partial]))
            add(joinrel, copy_of(&aside->safest[is_partial].path.path), is_partial);
}

void settle(const PlannerInfo* root, RelOptInfo* joinrel, const CorePaths* core, PathsAside* aside,
            bool is_partial) {
    List*& paths = paths_of(joinrel, is_partial);
    const OwnPath own = own_of(root, joinrel, core, is_partial);
    if (bms_is_empty(own.looked_up)) return;
    aside->readers[is_partial] =
        list_concat(take_readers(&paths, own), take_readers(&aside->loops[is_partial], own));
}

// What is compared with other paths: one of a relation, or a chain.
struct Loop {
    Cost cost;
    double rows;
    PathFacts facts;
    const List* pathkeys;
    Cost core;  // of core's own path; 0: none is known
};

// The most that a path may cost that is taken rather than the loop. What one process does takes longer,
// beside what several do, than costs say, which are the same for reading pages: there steadiness is worth
// nothing.
Cost most_of_steadier(const Loop& loop, bool gathers) {
    if (loop.facts.gathers && !gathers) return (1 + kHardly) * loop.cost;
    Cost worth = std::max(kSomewhat * loop.cost, kClearlyLess * loop.core - loop.cost);
    return loop.cost + std::max(kHardly * loop.cost, std::min(worth, kManyMore * loop.facts.looping));
}

Cost cost_of_core(const RelOptInfo* joinrel, bool is_partial) {
    const CorePaths* core = core_paths_of(joinrel);
    const Path* own = core ? cheapest_of(is_partial ? core->partial_pathlist : core->pathlist) : nullptr;
    return own ? own->total_cost : 0;
}

// Whether one of the paths costs little more than this loop, and loops much less. gathering: what it costs
// beyond that to have its rows.
bool has_steadier(const List* paths, const Loop& loop, Cost gathering = 0) {
    const Cost most_of_all = most_of_steadier(loop, true);
    ListCell* cell;
    foreach (cell, paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        Cost cost = path->total_cost + gathering;
        if (!is_candidate(path) || cost > most_of_all) continue;
        const PathFacts facts = quick_facts_of(path);
        const Cost most = most_of_steadier(loop, gathering > 0 || facts.gathers);
        if (cost > most) continue;
        if (!pathkeys_contained_in(const_cast<List*>(loop.pathkeys), path->pathkeys))
            cost += sorting_cost(loop.rows);
        if (cost > most) continue;
        if (facts.loops <= loop.facts.loops / kMuchLess) return true;
    }
    return false;
}

bool has_steadier(RelOptInfo* joinrel, const List* all_loops, const Path* path, bool is_partial) {
    const Loop loop = {path->total_cost, path->rows, quick_facts_of(path), path->pathkeys,
                       cost_of_core(joinrel, is_partial)};
    if (has_steadier(paths_of(joinrel, is_partial), loop) || has_steadier(all_loops, loop)) return true;
    return !is_partial && has_steadier(joinrel->partial_pathlist, loop, gathering_cost(joinrel));
}

const Path* cheapest_input(const RelOptInfo* rel, bool is_partial) {
    if (!is_partial) return rel->cheapest_total_path;
    return rel->partial_pathlist ? static_cast<const Path*>(linitial(rel->partial_pathlist)) : nullptr;
}

// Whether core may have a path for a pair that has_steadier() would find for this loop: one that reads both
// inputs, or a loop over few rows.
bool may_be_steadier(const JoinPair& pair, const Path* loop, bool is_partial) {
    const Path* outer = cheapest_input(pair.outer, is_partial);
    const Path* inner = cheapest_input(pair.inner, false);
    if (!outer || !inner) return false;
    const PathFacts facts = quick_facts_of(loop);
    Cost left =
        most_of_steadier({loop->total_cost, loop->rows, facts, NIL, cost_of_core(pair.joinrel, is_partial)},
                         facts.gathers) -
        outer->total_cost;
    Cost reading = is_partial ? 0 : inner->total_cost;
    return left >= reading || (left >= 0 && outer->rows <= facts.loops / kMuchLess);
}

bool may_hide_steadier(const JoinPair& pair, const PathsAside* aside) {
    for (bool is_partial : {false, true}) {
        ListCell* cell;
        foreach (cell, aside->kept[is_partial])
            if (may_be_steadier(pair, static_cast<const Path*>(lfirst(cell)), is_partial)) return true;
    }
    return false;
}

// Those that stay do so as copies: core may find better ones, which are then set aside.
void settle_loops(RelOptInfo* joinrel, PathsAside* aside, bool is_partial) {
    List* kept = NIL;
    ListCell* cell;
    foreach (cell, aside->loops[is_partial]) {
        const auto* loop = static_cast<const Path*>(lfirst(cell));
        if (has_steadier(joinrel, aside->loops[is_partial], loop, is_partial)) continue;
        kept = lappend(kept, const_cast<Path*>(loop));
    }
    aside->kept[is_partial] = kept;
    foreach (cell, kept) add(joinrel, copy_of(static_cast<const Path*>(lfirst(cell))), is_partial);
}

// Core's own paths may be steadier than loops with a GPU Join.
void watch_loops(RelOptInfo* joinrel) {
    const RelationNotes* notes = find_notes(joinrel);
    if (!notes || !notes->differs || notes->wants_core) return;
    for (const List* paths : {joinrel->pathlist, joinrel->partial_pathlist}) {
        ListCell* cell;
        foreach (cell, paths) {
            const auto* path = static_cast<const Path*>(lfirst(cell));
            if ((notes->is_above_loops || IsA(path, NestPath)) && is_loop(path))
                return want_core_paths(joinrel);
        }
    }
}

}  // namespace

Cost risk_of(const Path* path) {
    return std::min(kSomewhat * path->total_cost, kManyMore * quick_facts_of(path).looping);
}

Cost risk_of_step(const Chain* before, const Path* probe, const Path* build) {
    return (before ? before->risk : risk_of(probe)) + risk_of(build);
}

void note_steady_path(RelOptInfo* joinrel, const Path* path) {
    note_safest(&aside_of(joinrel)->safest[path->parallel_workers > 0], path);
}

void call_rivals_back(const JoinPair& pair) {
    RelOptInfo* joinrel = pair.joinrel;
    watch_loops(joinrel);
    const RelationNotes* notes = find_notes(joinrel);
    if (!notes || !notes->core) return;
    PathsAside* aside = aside_of(joinrel);
    take_all_loops(joinrel, aside);
    for (bool is_partial : {false, true}) {
        List* back = aside->readers[is_partial];
        aside->readers[is_partial] = NIL;
        ListCell* cell;
        foreach (cell, back) {
            auto* path = static_cast<Path*>(lfirst(cell));
            if (is_loop(path))
                add_loop(&aside->loops[is_partial], path);
            else
                add(joinrel, path, is_partial);
        }
    }
    bring_safest_back(joinrel, aside);
    if (may_hide_steadier(pair, aside)) {
        add_core_paths(pair);
        take_all_loops(joinrel, aside);
    }
    if (joinrel->pathlist == NIL) restore_core_paths(joinrel);
}

void set_rivals_aside(PlannerInfo* root, RelOptInfo* joinrel) {
    note_ours(joinrel);
    watch_loops(joinrel);
    const RelationNotes* notes = find_notes(joinrel);
    if (!notes || !notes->differs) return;
    PathsAside* aside = aside_of(joinrel);
    note_safest(aside, joinrel);  // a loop may oust it before anybody asks for core's paths
    const CorePaths* core = core_paths_of(joinrel);
    if (!core) return;
    take_all_loops(joinrel, aside);
    bring_safest_back(joinrel, aside);
    for (bool is_partial : {false, true}) settle(root, joinrel, core, aside, is_partial);
    restore_core_paths(joinrel);
    if (has_more_pairs(root, joinrel)) return;  // whose paths the loops would hide
    for (bool is_partial : {false, true}) settle_loops(joinrel, aside, is_partial);
}

bool are_readers_aside(const RelOptInfo* joinrel) {
    const RelationNotes* notes = find_notes(joinrel);
    return notes && notes->aside && (notes->aside->readers[0] != NIL || notes->aside->readers[1] != NIL);
}

Cost worth_of_steadiness(const RelOptInfo* rel, bool gathers) {
    const Path* cheapest = rel->cheapest_total_path;
    const PathFacts facts = quick_facts_of(cheapest);
    if (!facts.has_gpu_join || facts.looping == 0) return 0;
    const Loop loop = {cheapest->total_cost, cheapest->rows, facts, NIL, cost_of_core(rel, false)};
    return most_of_steadier(loop, gathers) - loop.cost;
}

bool is_left_to_others(const PlannerInfo* root, const RelOptInfo* rel, const Chain* chain) {
    const bool is_partial = chain->workers > 0;
    PathFacts facts = {};
    for (const Chain* stage = chain; stage; stage = stage->before) {
        if (stage->build) add_facts(&facts, facts_of(stage->build));
        if (!stage->before) add_facts(&facts, facts_of(stage->probe));
    }
    const Loop loop = {least_cost(chain->probe, chain->costs), chain->costs.rows, facts, NIL,
                       cost_of_core(rel, is_partial)};
    if (facts.loops > 0 && has_steadier(is_partial ? rel->partial_pathlist : rel->pathlist, loop))
        return true;
    const CorePaths* core = core_paths_of(rel);
    const RelationNotes* notes = find_notes(rel);
    if (!core && notes && notes->differs) return false;
    return is_beaten(own_of(root, rel, core, is_partial), facts.read, loop.cost);
}

}  // namespace gpujoin
