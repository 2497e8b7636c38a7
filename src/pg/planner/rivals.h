// Which paths with a GPU Join stay beside core's own in a join relation. The cheaper one is not always the
// quicker: costs are blind to where pages are, and count on estimates that may be wrong (see rivals.cpp).
#pragma once

#include "pg/planner/core_paths.h"

namespace gpujoin {

// Around what is done for a pair of relations, when core has added its paths for it: before paths of ours are
// added, and after.
void call_rivals_back(const JoinPair& pair);
void set_rivals_aside(PlannerInfo* root, RelOptInfo* joinrel);

// Whether some are set aside at present because core looks rows up.
bool are_readers_aside(const RelOptInfo* joinrel);

// A path without loops is remembered, which others that are expected to be cheaper may oust.
void note_steady_path(RelOptInfo* joinrel, const Path* path);

// What a path, or the inputs of a chain's step, may well take beyond what is expected, since loops in it
// depend on how few rows a GPU Join gives.
Cost risk_of(const Path* path);
Cost risk_of_step(const Chain* before, const Path* probe, const Path* build);

// What it is worth beyond the cost of a relation's cheapest path not to have the risk that loops in it are.
// gathers: the other path has rows of several processes.
Cost worth_of_steadiness(const RelOptInfo* rel, bool gathers);

// Whether rows of a relation are better left to its paths, or core's, than to this chain.
bool is_left_to_others(const PlannerInfo* root, const RelOptInfo* rel, const Chain* chain);

}  // namespace gpujoin
