// BETWEEN SYMMETRIC, which the parser writes out, as two comparisons.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The two comparisons (List of OpExpr) that `x BETWEEN SYMMETRIC a AND b` is; NIL when the clause is none.
List* symmetric_comparisons(BoolExpr* clause);

}  // namespace gpujoin
