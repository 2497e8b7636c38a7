// Blind loops (see blind_loops.h) of a plan, which tells less of its inputs than paths do.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// What takes less is over before it matters, and how it is planned is of less interest than its time.
inline constexpr Cost kLeastBlindLoop = 1000;
// To read no more than these, of one page, takes hardly longer than to look in a hash table.
inline constexpr double kFewTuples = 20;

bool has_blind_loop(const PlannedStmt* statement);

}  // namespace gpujoin
