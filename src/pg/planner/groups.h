// Aggregates above a chain of joins, in the same node, or above any other input: the node gives groups with
// partial transition states, which core's Finalize Aggregate above it combines and finishes. So HAVING,
// rounding, scale and output are core's own, and a group may come several times: from each process of a
// parallel plan, and when a table is full.
//
// Taken are count, sum, avg, min and max of integers and of numerics of a known scale, and min and max of
// dates and times, with FILTER, over expressions that the filter machine computes (filters.h); GROUP BY
// whatever has an equality that can be encoded. A row of which an argument cannot be computed (because
// PostgreSQL would raise an error, or for NaN, or too many digits) comes back, and PostgreSQL computes it.
// Everything else is left to core: DISTINCT and ORDER BY within aggregates, GROUPING SETS, aggregates without
// partial states.
#pragma once

#include "pg/planner/join_path.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The groups of a chain's rows, on their way from path to plan.
struct GroupsInput {
    GroupsPlan plan;                // but for the states' entries
    List* exprs[kGroupExprsCount];  // over the chain's inputs
    PathTarget* target;             // of the path: the i-th expression has the i-th state of the plan
};

}  // namespace gpujoin
