// Reading the plans below a parallel join again, in the middle of a run: what its participants share of their
// scans is reset, as Gather does it between runs.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

// Resets what is shared of a GPU Join below.
using ResetJoin = void (*)(CustomScanState* node);

// Whether it shares scans with other participants of the query.
bool shares_scans(PlanState* plan);

// False where the plan has nodes that only Gather can reset.
bool can_reset_shared_scans(PlanState* plan);

// Of such a plan. To be called by one participant, when each has rescanned its own and none reads it.
void reset_shared_scans(PlanState* plan, ResetJoin reset_join);

}  // namespace gpujoin
