// The search for an order of joins, around core's. Core looks at each set of relations that may be joined,
// thousands where ten are, and for each of them a GPU Join is proposed, paths are compared that loop or read
// more than others (rivals.h), and core's own plan is made a second time beside ours (core_paths.h). That
// takes several times as long as core's planning, and most of it comes to nothing: what a GPU Join does for a
// set costs more than all that the query needs, since core looks a few rows up in a table that we would read.
//
// So where several relations are joined, core's own plan is searched for first, as if we were not there. It
// is the plan if the joins cost less than it would take to search for a better one. Else its cost bounds what
// is looked at from then on (branch and bound), and a search is made roughly: paths of ours compete by cost,
// nothing else is compared, and no plan of core's is made again. If no GPU Join comes out of that, the first
// plan is taken; else all is searched carefully. Where a plan takes much longer than a search, or tables are
// kept, it is careful at once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/planner/bounded_levels.h"
#include "pg/planner/chains.h"
#include "pg/planner/core_alone.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/core_paths.h"
#include "pg/planner/cost.h"
#include "pg/planner/grouped_query.h"
#include "pg/planner/kept_facts.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/search_bounds.h"
#include "pg/planner/verdicts.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

constexpr Cost kUnknown = std::numeric_limits<Cost>::infinity();

// Fewer relations are searched in no time.
constexpr int kFewestRelations = 5;
// What a GPU Aggregate saves is no more than core's costs: so many times that, since it is an estimate.
constexpr double kGrouping = 1.5;
// What it takes to look at a pair of relations carefully, in the planner's units.
constexpr Cost kPair = 2.5;

// So many times that, it is likely that a GPU Join is of use, and planning is short next to what is planned.
constexpr double kMuchMore = 20;
// And where tables are kept, since a GPU Join takes a fraction of core's time then.
constexpr double kMoreOfKept = 2;

join_search_hook_type next_search;

// What core takes to sort and group so many rows.
Cost cost_above(PlannerInfo* root, double rows) {
    const Query* query = root->parse;
    if (!has_groups(query)) return query->sortClause == NIL ? 0 : sorting_cost(rows);
    AggClauseCosts costs = {};
    get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
    const int keys = list_length(query->groupClause) + list_length(query->distinctClause);
    const Cost row = costs.transCost.per_tuple + (keys + 1) * (cpu_operator_cost + cpu_tuple_cost);
    return rows * row + sorting_cost(rows);
}

// A foreign data wrapper may ask its server for each join that it is shown, also of partitions.
bool has_foreign_tables(const PlannerInfo* root) {
    for (int i = 1; i < root->simple_rel_array_size; i++)
        if (root->simple_rel_array[i] && root->simple_rel_array[i]->fdwroutine) return true;
    return false;
}

bool has_kept(PlannerInfo* root) {
    for (int i = 1; i < root->simple_rel_array_size; i++) {
        RelOptInfo* rel = root->simple_rel_array[i];
        if (rel && rel->reloptkind == RELOPT_BASEREL && kept_facts(root, rel)->share > 0) return true;
    }
    return false;
}

// Not all of the query's: a part of it that is joined by itself, as one of another search.
bool is_of_part(const PlannerInfo* root, const List* rels) {
    Relids joined = nullptr;
    ListCell* cell;
    foreach (cell, rels)
        joined = bms_add_members(joined, static_cast<const RelOptInfo*>(lfirst(cell))->relids);
    return !bms_is_subset(root->all_baserels, joined);
}

// Another extension's search may have reasons of its own to be asked but once, and joins in mind that cost
// something else.
bool is_worthwhile(const PlannerInfo* root, const List* rels) {
    return setting_enabled && !setting_force && server_is_ready() && !next_search &&
           left_out() == LeftOut::Nothing && list_length(rels) >= kFewestRelations && !is_bounded(root) &&
           root->parse->groupingSets == NIL && !has_foreign_tables(root);
}

bool has_ours(const List* paths, Cost most) {
    ListCell* cell;
    foreach (cell, paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (path->total_cost <= most && has_gpu_join(path)) return true;
    }
    return false;
}

// What runs in several processes is gathered.
bool has_ours(const RelOptInfo* joined, Cost most) {
    return has_ours(joined->pathlist, most) || has_ours(joined->partial_pathlist, most - parallel_setup_cost);
}

bool has_chain(const RelOptInfo* joined, Cost most) {
    for (bool is_partial : {false, true}) {
        const Chain* chain = cheapest_chain(joined, is_partial);
        const Cost gathering = is_partial ? parallel_setup_cost : 0;
        if (chain && least_cost(chain->probe, chain->costs) + gathering <= most) return true;
    }
    return false;
}

Cost cheapest_cost(const RelOptInfo* joined) {
    const Cost serial = joined->cheapest_total_path->total_cost;
    if (joined->partial_pathlist == NIL) return serial;
    const auto* partial = static_cast<const Path*>(linitial(joined->partial_pathlist));
    if (is_disabled(partial)) return serial;
    return std::min(serial, partial->total_cost + parallel_setup_cost + parallel_tuple_cost * joined->rows);
}

// Whether a plan with a GPU Join may come of it that is clearly cheaper. A chain is of use to what is joined,
// or grouped, above it.
bool is_of_use(const Search& search, const RelOptInfo* joined, bool is_part) {
    const Cost most = is_part ? kUnknown : (1 - kGain) * search.known + search.above;
    return has_ours(joined, most) || ((is_part || has_groups(search.root->parse)) && has_chain(joined, most));
}

bool has_any(const RelOptInfo* joined) {
    return has_ours(joined, kUnknown) || has_chain(joined, kUnknown);
}

bool is_by_geqo(int relations) {
    return enable_geqo && relations >= geqo_threshold;
}

// Of a careful search: of pairs of sets, about as many as a star has, in both orders, or as GEQO tries.
Cost cost_of_search(int relations) {
    return kPair *
           (is_by_geqo(relations) ? 1000.0 * (relations - 1) : relations * std::ldexp(1.0, relations - 2));
}

RelOptInfo* search_as_ever(PlannerInfo* root, int levels, List* rels) {
    if (next_search) return next_search(root, levels, rels);
    if (is_by_geqo(levels)) return geqo(root, levels, rels);
    return standard_join_search(root, levels, rels);
}

// EXPLAIN plans in a context of blocks of 8 kB: to get hundreds of these from the system, and to give them
// back one by one, takes longer than a search. Larger blocks than these the C library may map one by one.
constexpr Size kBlock = 96 * 1024;

// As long-lived as the planner's.
MemoryContext memory_for_searches() {
    return AllocSetContextCreate(CurrentMemoryContext, "GPU Join searches", 0, kBlock, kBlock);
}

// One after the other. None finds the join relations of another one.
class Searches {
  public:
    Searches(PlannerInfo* root, int levels, List* rels, Search* search)
        : root_(root), levels_(levels), rels_(rels), search_(search), others_(join_relations_of(root)) {}

    RelOptInfo* find() {
        RelOptInfo* core = find_by(is_by_geqo(levels_) ? SearchMode::Geqo : SearchMode::Core);
        const JoinRelations of_core = join_relations_of(root_);
        const Influence on_core = {left_out(), is_influence_felt()};
        if (search_->mode == SearchMode::Core && !is_of_ours()) search_->core = of_core;
        const bool is_needed = is_disabled(core->cheapest_total_path) || is_better_found(core);
        // Each join is recorded there.
        if (is_needed || is_recording(root_)) search_carefully();
        if (is_needed && has_any(careful_)) {
            restore_join_relations(root_, of_careful_);
            return careful_;
        }
        restore_join_relations(root_, of_core);
        set_influence(on_core);
        return core;
    }

  private:
    // nullptr: the bound leaves no order. The rules of a careful search are about all pairs of a relation.
    RelOptInfo* find_by(SearchMode mode) {
        search_->mode = mode;
        restore_join_relations(root_, others_);
        root_->join_rel_hash = nullptr;
        if (mode == SearchMode::Rough && !is_by_geqo(levels_))
            return search_bounded_levels(root_, levels_, rels_);
        return search_as_ever(root_, levels_, rels_);
    }

    // Parts that have been searched for may have paths of ours, on which core's are made then.
    bool is_of_ours() const {
        ListCell* cell;
        foreach (cell, rels_)
            if (has_differing(static_cast<const RelOptInfo*>(lfirst(cell)))) return true;
        return false;
    }

    void search_carefully() {
        if (careful_) return;
        careful_ = find_by(SearchMode::Careful);
        of_careful_ = join_relations_of(root_);
    }

    bool is_better_found(RelOptInfo* core) {
        const bool is_part = is_of_part(root_, rels_);
        const Cost known = cheapest_cost(core);
        if (!is_part && known < cost_of_search(levels_)) return false;
        search_->known = known;
        if (!is_part) {
            search_->above = kGrouping * cost_above(root_, core->rows);
            search_->saving = kGain * known / (levels_ - 1);
        }
        const double more = has_kept(root_) ? kMoreOfKept : kMuchMore;
        if (!is_part && !is_by_geqo(levels_) && known >= more * cost_of_search(levels_)) {
            search_carefully();
            if (!has_any(careful_)) return false;
            if (is_of_use(*search_, careful_, is_part)) return true;
        }
        const RelOptInfo* rough = find_by(SearchMode::Rough);
        return rough && is_of_use(*search_, rough, is_part);
    }

    PlannerInfo* root_;
    int levels_;
    List* rels_;
    Search* search_;
    JoinRelations others_;
    RelOptInfo* careful_ = nullptr;  // as the careful search has found it
    JoinRelations of_careful_ = {};
};

RelOptInfo* search_bounded(PlannerInfo* root, int levels, List* rels) {
    if (!is_worthwhile(root, rels)) return search_as_ever(root, levels, rels);
    Search search = {};
    search.root = root;
    search.known = kUnknown;
    RelOptInfo* found = nullptr;
    MemoryContext before = MemoryContextSwitchTo(memory_for_searches());
    begin_search(&search);
    PG_TRY();
    { found = Searches(root, levels, rels, &search).find(); }
    PG_FINALLY();
    { end_search(search); }
    PG_END_TRY();
    MemoryContextSwitchTo(before);
    return found;
}

}  // namespace

void install_join_search() {
    next_search = join_search_hook;
    join_search_hook = search_bounded;
}

}  // namespace gpujoin
