// A stage that runs alone, to find which rows of the input that it is searched by have a match in a piece of
// its build side: a semijoin at the server, whose rows are no rows of the node's.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

inline constexpr int kNoChild = -2;

// The child that all which a stage's conditions read of earlier inputs is of; kNoChild: of several.
int searcher_of(const GpuJoinState* state, int stage);

// From now on it runs alone, searched by the rows of one child.
void run_stage_alone(GpuJoinState* state, int stage, int searcher);

}  // namespace gpujoin
