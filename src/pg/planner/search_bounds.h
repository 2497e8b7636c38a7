// What the search for an order of joins that is under way is told (join_search.cpp).
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

#include "pg/planner/core_calls.h"

namespace gpujoin {

enum class SearchMode : uint8 {
    Careful,
    Rough,  // whether a GPU Join is of use
    Core,   // for a plan without one
    Geqo,   // the same by GEQO, which would go other ways with every change to a cost: nothing is changed
};

// Within that of a query around it: functions that are evaluated meanwhile may plan queries of their own.
struct Search {
    const PlannerInfo* root;
    SearchMode mode;
    Cost known;          // of all joins, by core's own plan; infinite: not known
    Cost above;          // of what is made of their rows
    Cost saving;         // see least_saving()
    JoinRelations core;  // of the search for core's plan, once it is over
    Search* around;
};

// `search` is read for as long as it is under way.
void begin_search(Search* search);
void end_search(const Search& search);

// Careful where there is no such search.
SearchMode search_mode(const PlannerInfo* root);

// Whether a path that costs so much, or more, cannot be of use.
bool is_too_dear(const PlannerInfo* root, Cost cost);

// Which core's search has made for the same base relations. nullptr: there was no such search.
RelOptInfo* found_by_core(PlannerInfo* root, Relids relids);

// What is expected to gain less, as a share of the cost of core's path for the same rows, is not worth what
// may turn out to be otherwise, such as the order of joins that comes with it.
inline constexpr double kGain = 0.02;

// What a path has to save at least next to core's, so that all joins together may miss that share of what
// they cost. 0: nothing is known.
Cost least_saving(const PlannerInfo* root);

}  // namespace gpujoin
