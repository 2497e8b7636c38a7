// Why no condition of a join can drive it: asked for gpujoin_why(), once classify_clauses() has found none.
#pragma once

#include "pg/planner/join_sides.h"
#include "pg/planner/reasons.h"

namespace gpujoin {

// The most telling reason of all conditions.
Refusal refusal_of_conditions(const List* restrictlist, const JoinSides& sides);

}  // namespace gpujoin
