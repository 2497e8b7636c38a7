// Subqueries that a plan runs again, or looks through, for each row, what they take at least, and whether the
// plan of a statement that joins them (decorrelation.h) is to be taken instead.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// Whether they take so long that it is worth planning the statement with joins, too.
bool has_dear_subplans(const PlannedStmt* statement);
// Whether joins are clearly better than what the subqueries of the statement's plan take at least.
bool is_clearly_cheaper(const PlannedStmt* joined, const PlannedStmt* statement);

}  // namespace gpujoin
