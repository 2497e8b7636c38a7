// What the planner knows of kept columns: how much of a scan need not be read.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The share of a table's rows that a path which reads it need not read; 0 where there are none, or its
// conditions are not tested on kept columns. A hint: what is kept may go.
double kept_share_of(PlannerInfo* root, const Path* path);
// The same where the path is the source of groups: of several tables, too, that an Append reads.
double kept_share_of_source(PlannerInfo* root, const Path* path);
// The same of a sequential scan of the relation.
double kept_share_of_rel(PlannerInfo* root, RelOptInfo* rel);
// Whether the relation is a table whose columns are kept when they are read again.
bool may_be_kept(PlannerInfo* root, RelOptInfo* rel);

}  // namespace gpujoin
