// What a path's plan would do, as far as it matters for the choice between core's plans and ours.
#pragma once

#include "pg/planner/relation_notes.h"

namespace gpujoin {

PathFacts facts_of(const Path* path);

// All but what a path of several relations reads, which takes longest to find.
PathFacts quick_facts_of(const Path* path);

// The one that is asked for most.
bool has_gpu_join(const Path* path);

// What reads the rows, below what computes the columns that are wanted of them.
const Path* strip_projection(const Path* path);

// The input of one of core's paths that make groups; nullptr: it is another one.
const Path* input_of_groups(const Path* path);

// Of the cheapest of some paths, at most `least`.
Cost least_total_cost(const List* paths, Cost least);

// As of a path with both inputs.
void add_facts(PathFacts* facts, const PathFacts& more);

}  // namespace gpujoin
