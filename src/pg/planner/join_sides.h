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
    // Of a row of a chain, which is the probe side as a whole: tells values of one input, which alone can be
    // computed. nullptr: each side is one input.
    bool (*is_of_one_input)(const JoinSides& sides, Node* value) = nullptr;
    const struct Chain* chain = nullptr;
};

}  // namespace gpujoin
