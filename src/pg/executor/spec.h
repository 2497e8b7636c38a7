// From the plan to the join spec: which wire columns each side has (key columns first, then output columns),
// how each is encoded, and the terms between them.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// Whether what is emitted of the probe input is to go through the engine. What is emitted, and tested, must
// be known.
bool carries(const GpuJoinState* state);

// Sets up the stage's spec and the columns of both sides.
void build_spec(GpuJoinState* state, JoinStage* stage);

}  // namespace gpujoin
