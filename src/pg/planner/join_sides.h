// JoinSides: the two inputs of a join that is planned.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// What a condition is classified against.
struct JoinSides {
    PlannerInfo* root;
    JoinType jointype;
    Relids join_relids;
    Relids probe_relids;
    Relids build_relids;
};

}  // namespace gpujoin
