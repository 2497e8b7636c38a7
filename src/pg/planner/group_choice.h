// When the engine's groups are worth making, and which of core's paths to the same groups go.
#pragma once

#include "pg/planner/chains.h"
#include "pg/planner/group_call.h"

namespace gpujoin {

// Where groups are made twice, each is charged so much, since estimates of their number are wrong.
inline constexpr double kCostOfGroup = 0.08;

// A join's rows, rather than groups.
bool gives_rows_of_gpu_join(const Path* path);

// input: of the node that makes the groups of the chain's, for which each costs so much.
bool is_worthwhile(const GroupCall& call, const Chain* chain, const Path* input, double cost_of_group);

// Groups of the rows that each of several processes has are made again of those. Where there are hardly fewer
// of them than rows, that is what it takes, and their number is as uncertain as that of a join's rows.
bool is_worthwhile_in_parallel(const GroupCall& call, const Chain* chain, const Path* gather);

// For a path of ours that was found worthwhile. What is forced displaces all of core's, once there is one.
void make_way(const GroupCall& call, const RelOptInfo* input, const Chain* chain, const Path* path,
              bool* is_done);

}  // namespace gpujoin
