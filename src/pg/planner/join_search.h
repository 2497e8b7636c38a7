// The search for an order of joins, around core's. Core looks at each set of relations that may be joined,
// thousands where ten are, and for each of them a GPU Join is proposed, paths are compared that loop or read
// more than others (rivals.h), and core's own plan is made a second time beside ours (core_paths.h). That
// takes several times as long as core's planning, and most of it comes to nothing: what a GPU Join does for a
// set costs more than all that the query needs, since core looks a few rows up in a table that we would read.
// So where several relations are joined,
//
// - what the joins cost at most is known before the search begins, from core's plan for an order that is
// found
//   at once (greedy_order.h). What costs more cannot be part of the best plan (branch and bound), and what is
//   left out at once makes no work in all sets above.
// - The search is made *roughly* first: by cost alone. Nothing is compared beyond that, and no plan of core's
//   made again. If no plan with a GPU Join comes close to being the best, core's is taken that has been
//   found. If one is hardly cheaper than what is known, core's is searched for. Else all is searched
//   *carefully*.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

enum class SearchMode {
    Careful,
    Rough,
    Core,  // for a plan without a GPU Join
};

// Careful where there is no such search.
SearchMode search_mode(const PlannerInfo* root);

// The most that a path of ours, or one that it is to be compared with, may cost; infinite where nothing is
// known, or the plan is not chosen by what it costs as a whole.
Cost most_for_joins(const PlannerInfo* root);

// What is expected to gain less, as a share of the cost of core's path for the same rows, is not worth what
// may turn out to be otherwise, such as the order of joins that comes with it.
inline constexpr double kGain = 0.02;

// What a path has to save at least next to core's: that share of what all joins cost. 0: nothing is known.
Cost least_saving(const PlannerInfo* root);

}  // namespace gpujoin
