// Blind loops (see blind_loops.h) of a plan, which does not tell how small a table is that a loop reads.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// What takes less is over before it matters, and how it is planned is of less interest than its time.
inline constexpr Cost kLeastBlindLoop = 1000;

// Whether a plan has any, or loops that are like them but for how small the inner side is.
bool has_blind_loop(const PlannedStmt* statement);

}  // namespace gpujoin
