// What one call of the hook for groups (groups.cpp) is about.
#pragma once

#include "pg/planner/cost.h"
#include "pg/planner/distinct_counts.h"
#include "pg/planner/verdicts.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct GroupCall {
    PlannerInfo* root;
    RelOptInfo* grouped;
    const GroupPathExtraData* extra;
    List* clause;        // of SortGroupClause, that of the distinct count too
    PathTarget* target;  // of partial groups
    PathTarget* final;   // the same, with what comes of them
    double groups;
    const GroupingSetsPath* sets;   // core's path for them; nullptr: there is one set
    const DistinctCount* distinct;  // nullptr: there is none
    bool may_repeat;                // groups come several times as likely as not
    EngineCosts engine;
    Verdict* verdict;  // nullptr unless it is asked for
};

}  // namespace gpujoin
