// Two relations that core has tried to join, in one of the two orders.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// What core's add_paths_to_joinrel() was called with, and what it found out first.
struct JoinPair {
    PlannerInfo* root;
    RelOptInfo* joinrel;
    RelOptInfo* outer;
    RelOptInfo* inner;
    JoinType jointype;
    SpecialJoinInfo* sjinfo;
    List* restrictlist;
    bool inner_is_unique;
};

}  // namespace gpujoin
