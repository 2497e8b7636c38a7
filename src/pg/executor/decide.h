// Decider: which candidate pairs are matches, for joins other than INNER that have a residual condition, and
// for semijoins whose matched row is wanted above. The server sends candidates grouped by probe row, in probe
// order; the residual is tested here, and what SQL makes of the outcome is decided per probe row (LEFT, FULL,
// SEMI, ANTI) and per build row (RIGHT, FULL and the joins that preserve the build side). A probe row's
// candidates may span results.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

struct GpuJoinState;
struct Client;

struct Decider {
    uint32_t probe_row;    // of the oldest batch: not decided yet; rows before it are
    bool matched;          // it has a match already
    uint8* build_matched;  // one bit a build row, for joins that ask for build rows afterwards
    uint64_t build_rows;
};

// Puts the next row to hand out into the scan slot. False at the end of probing.
bool next_decided_row(GpuJoinState* state);

// Reports the build rows that have matched to the server, before they are scanned.
void report_matched_build_rows(GpuJoinState* state);

}  // namespace gpujoin
