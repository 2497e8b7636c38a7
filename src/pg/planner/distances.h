// Bounded distances between the sides, which are bands.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// `l - r <op> constant` and `abs(l - r) <= constant` as the comparisons of l with r plus or minus a constant
// that they are (List of OpExpr), on integers, and without abs on dates and timestamps; NIL for any other
// condition. Where they are not exact they only narrow down the pairs that the condition is to be tested on.
List* distance_comparisons(OpExpr* clause, bool* is_exact);

// An interval constant's length as intervals compare.
bool interval_constant(const Node* node, int64* microseconds);

}  // namespace gpujoin
