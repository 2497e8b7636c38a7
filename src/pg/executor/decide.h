// Decider: which candidate pairs are matches, for joins other than INNER that have a residual condition, and
// for semijoins whose matched row is wanted above. The server sends candidates grouped by probe row, in probe
// order; the residual is tested here, and what SQL makes of the outcome is decided per probe row (LEFT, FULL,
// SEMI, ANTI) and per build row (RIGHT, FULL and the joins that preserve the build side). A probe row's
// candidates may span results.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// Puts the next row to hand out into the scan slot. False at the end of probing.
bool next_decided_row(GpuJoinState* state);

// Reports the build rows that have matched to the server, before they are scanned.
void report_matched_build_rows(GpuJoinState* state);

}  // namespace gpujoin
