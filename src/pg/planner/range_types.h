// Conditions on range types (r @> x, x <@ r, r && s) as comparisons of their bounds.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The comparisons (List of OpExpr, arguments in the clause's order) that a condition on range types implies;
// NIL when it is no such condition. *exact: together they are the condition; otherwise it must be tested as
// well, because whether a bound is included varies by row.
List* bound_comparisons(OpExpr* clause, bool* exact);

}  // namespace gpujoin
