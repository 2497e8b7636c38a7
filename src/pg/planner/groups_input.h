// GroupsInput: the groups of a chain's rows, on their way from path to plan.
#pragma once

#include "pg/planner/join_path.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct GroupsInput {
    GroupsPlan plan;                // but for the states' entries
    List* exprs[kGroupExprsCount];  // over the chain's inputs
    PathTarget* target;             // of the path: the i-th expression has the i-th state of the plan
};

}  // namespace gpujoin
