// An order of joins that is found at once, by core's own joins: of all pairs of what has been joined so far,
// the one is joined next that has the fewest rows, or once more the one whose rows are the cheapest to have;
// what costs less in the end is taken. That tries about as many pairs as there are pairs of relations, where
// the search for the best order tries as many as there are pairs of sets of them. (After L. Fegaras, "A New
// Heuristic for Optimizing Large Queries", DEXA 1998.)
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct GreedyOrder {
    bool is_found;  // conditions on the order of joins may lead it astray, and loops be disabled
    Cost cost;      // of all rows, by core's cheapest path
    double rows;
};

// rels: the items of the search, as the hook for it gets them. Leaves no join relations behind.
GreedyOrder find_greedy_order(PlannerInfo* root, List* rels);

}  // namespace gpujoin
