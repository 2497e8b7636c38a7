// From the plan to the join spec: which wire columns each side has (key columns first, then payload), how
// each is encoded, and the terms between them.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// Sets up state->spec and the columns of both sides. wanted_build: bitmap of the build child's attributes
// whose values must come back. output_of[attribute - 1]: which output carries it.
void build_spec(GpuJoinState* state, Bitmapset* wanted_build, int* output_of);

}  // namespace gpujoin
