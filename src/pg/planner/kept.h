// What the planner knows of kept columns: how much of a scan need not be read.
#pragma once

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Of a base relation.
struct KeptFacts {
    bool may_be_kept;           // it is a table whose columns are kept when they are read again
    bool is_tested_by_kept;     // so are its conditions, or they will be
    int conditions_to_compute;  // for that
    double share;               // of its rows that need not be read at present
    ChunkKey table;
    Bitmapset* attributes;  // that are read
};
const KeptFacts* kept_facts(PlannerInfo* root, RelOptInfo* rel);

// Has the next scan of a relation that could be kept make and use what is not there yet.
void want_kept(PlannerInfo* root, RelOptInfo* rel);

// The share of a table's rows that a path which reads it need not read, where they are the source of groups;
// 0 where there are none, or its conditions are not tested on kept columns. A hint: what is kept may go.
double kept_share_of(PlannerInfo* root, const Path* path);
// The same of a sequential scan of the relation.
double kept_share_of_rel(PlannerInfo* root, RelOptInfo* rel);
// Whether the relation is a table whose columns are kept when they are read again.
bool may_be_kept(PlannerInfo* root, RelOptInfo* rel);

}  // namespace gpujoin
