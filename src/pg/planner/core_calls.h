// Calls of core's planner for a pair of relations that it has tried before: our hook keeps out of them.
#pragma once

#include "pg/planner/join_pair.h"

namespace gpujoin {

// Whether the hook is called for core's own paths, which ours are to keep out of.
bool are_core_paths_made();

// Adds the paths that core makes on a pair's inputs, whatever they are, a second time.
void add_core_paths(const JoinPair& pair);

}  // namespace gpujoin
