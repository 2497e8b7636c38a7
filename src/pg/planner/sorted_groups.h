// Partial groups in the order of their keys, for core's nodes that combine sorted ones. To compare texts by
// the rules of a locale takes many times what an operator is charged with: where groups are many, it takes
// several processes to be quick.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The path itself where it is in that order, that of these pathkeys. All keys may be constants: then any is.
Path* sort_groups(PlannerInfo* root, List* pathkeys, Path* partial);

// Charges core's paths, too, that sort rows of a GPU Join in one process to group them, by these pathkeys.
void charge_for_comparing(const List* pathkeys, const RelOptInfo* input, RelOptInfo* grouped);

// Of a path of several processes, each of which sorts its own; nullptr where that needs no order.
Path* merge_sorted_groups(PlannerInfo* root, List* pathkeys, Path* partial, double rows);

}  // namespace gpujoin
