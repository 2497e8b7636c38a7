// Columns of type record that a CTE or a subquery makes. What their fields are called only the plan below
// tells. EXPLAIN (VERBOSE) looks for it where core's joins have their children, and a custom scan keeps its
// own elsewhere: builds with assertions fail there, others say f1, f2 for the names.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Whether a target list of the relation has such a column.
bool has_unnamed_record(PlannerInfo* root, const RelOptInfo* rel);

}  // namespace gpujoin
