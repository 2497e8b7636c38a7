// See join_search.h.
#include "pg/planner/join_search.h"

#include <algorithm>
#include <limits>

#include "pg/entry_points.h"
#include "pg/planner/chains.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/cost.h"
#include "pg/planner/greedy_order.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/verdicts.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
}

namespace gpujoin {
namespace {

constexpr Cost kUnknown = std::numeric_limits<Cost>::infinity();

// Fewer relations are searched in no time.
constexpr int kFewestRelations = 5;
// What a steadier plan than the cheapest may cost more (rivals.cpp).
constexpr double kSteadier = 0.25;
// What a GPU Aggregate saves is no more than core's costs: so many times that, since it is an estimate.
constexpr double kGrouping = 1.5;

// Within that of a query around it: functions that are evaluated meanwhile may plan queries of their own.
struct Search {
    const PlannerInfo* root;
    const Search* around;
    SearchMode mode;
    Cost known;  // of joins in an order that is known; kUnknown: none is
    Cost above;  // of what is made of their rows
};

const Search* current;
join_search_hook_type next_search;

const Search* search_of(const PlannerInfo* root) {
    const Search* search = current;
    while (search && search->root != root) search = search->around;
    return search;
}

// What core takes to sort and group so many rows.
Cost cost_above(PlannerInfo* root, double rows) {
    const Query* query = root->parse;
    if (!query->hasAggs && query->groupClause == NIL && query->distinctClause == NIL)
        return query->sortClause == NIL ? 0 : sorting_cost(rows);
    AggClauseCosts costs = {};
    get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
    const int keys = list_length(query->groupClause) + list_length(query->distinctClause);
    const Cost row = costs.transCost.per_tuple + (keys + 1) * (cpu_operator_cost + cpu_tuple_cost);
    return rows * row + sorting_cost(rows);
}

// A foreign data wrapper may ask its server for each join that it is shown.
bool has_foreign(const List* rels) {
    ListCell* cell;
    foreach (cell, rels)
        if (static_cast<const RelOptInfo*>(lfirst(cell))->fdwroutine) return true;
    return false;
}

bool is_worthwhile(const PlannerInfo* root, const List* rels) {
    return setting_enabled && !setting_force && server_is_ready() && list_length(rels) >= kFewestRelations &&
           !is_bounded(root) && !has_foreign(rels);
}

Search begin_search(PlannerInfo* root, List* rels) {
    Search search = {root, current, SearchMode::Careful, kUnknown, 0};
    if (!is_worthwhile(root, rels)) return search;
    const GreedyOrder order = find_greedy_order(root, rels);
    if (!order.is_found) return search;
    search.known = order.cost;
    search.above = kGrouping * cost_above(root, order.rows);
    return search;
}

bool has_ours(const List* paths, Cost most) {
    ListCell* cell;
    foreach (cell, paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (path->total_cost <= most && quick_facts_of(path).has_gpu_join) return true;
    }
    return false;
}

bool has_chain(const RelOptInfo* joined, Cost most) {
    for (bool is_partial : {false, true}) {
        const Chain* chain = cheapest_chain(joined, is_partial);
        const Cost gathering = is_partial ? parallel_setup_cost : 0;
        if (chain && least_cost(chain->probe, chain->costs) + gathering <= most) return true;
    }
    return false;
}

// What the search goes on with. What runs in several processes is gathered.
SearchMode mode_after_rough(const Search& search, const RelOptInfo* joined) {
    const Path* cheapest = joined->cheapest_total_path;
    const Cost most = std::min(cheapest->total_cost, (1 - kGain) * search.known) + search.above;
    if (has_ours(joined->pathlist, most) || has_ours(joined->partial_pathlist, most - parallel_setup_cost) ||
        has_chain(joined, most))
        return SearchMode::Careful;
    return has_ours(joined->pathlist, kUnknown) || has_ours(joined->partial_pathlist, kUnknown)
               ? SearchMode::Core
               : SearchMode::Rough;
}

RelOptInfo* search_as_ever(PlannerInfo* root, int levels, List* rels) {
    if (next_search) return next_search(root, levels, rels);
    if (enable_geqo && levels >= geqo_threshold) return geqo(root, levels, rels);
    return standard_join_search(root, levels, rels);
}

// What was found before is left where it is, until all that is planned is forgotten.
RelOptInfo* search_anew(PlannerInfo* root, int levels, List* rels, const JoinRelations& before) {
    restore_join_relations(root, before);
    set_join_relations_aside(root);
    return search_as_ever(root, levels, rels);
}

RelOptInfo* search_by_modes(PlannerInfo* root, int levels, List* rels, Search* search) {
    const JoinRelations before = set_join_relations_aside(root);
    search->mode = SearchMode::Rough;
    RelOptInfo* found = search_as_ever(root, levels, rels);
    const SearchMode next = mode_after_rough(*search, found);
    if (next == SearchMode::Rough && !is_recording(root)) return found;
    // Each join is recorded when it is looked at carefully.
    search->mode = SearchMode::Careful;
    search->known = std::min(search->known, found->cheapest_total_path->total_cost);
    if (next == SearchMode::Careful || is_recording(root)) found = search_anew(root, levels, rels, before);
    search->mode = SearchMode::Core;
    return next == SearchMode::Careful ? found : search_anew(root, levels, rels, before);
}

// Another extension's search may have reasons of its own to be asked but once.
RelOptInfo* search_bounded(PlannerInfo* root, int levels, List* rels) {
    Search search = begin_search(root, rels);
    RelOptInfo* found = nullptr;
    current = &search;
    PG_TRY();
    {
        const bool may_repeat = search.known < kUnknown && !next_search;
        found =
            may_repeat ? search_by_modes(root, levels, rels, &search) : search_as_ever(root, levels, rels);
    }
    PG_FINALLY();
    { current = search.around; }
    PG_END_TRY();
    return found;
}

}  // namespace

SearchMode search_mode(const PlannerInfo* root) {
    const Search* search = search_of(root);
    return search ? search->mode : SearchMode::Careful;
}

Cost most_for_joins(const PlannerInfo* root) {
    const Search* search = search_of(root);
    return search ? (1 + kSteadier) * search->known + search->above : kUnknown;
}

Cost least_saving(const PlannerInfo* root) {
    const Search* search = search_of(root);
    return search && search->known < kUnknown ? kGain * search->known : 0;
}

void install_join_search() {
    next_search = join_search_hook;
    join_search_hook = search_bounded;
}

}  // namespace gpujoin
