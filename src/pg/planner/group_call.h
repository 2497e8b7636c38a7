// What one call of the hook for groups (groups.cpp) is about.
#pragma once

#include "pg/planner/cost.h"
#include "pg/planner/distinct_counts.h"
#include "pg/planner/verdicts.h"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// What rows are grouped by: GROUP BY, with what is computed of the groups; or all columns of SELECT DISTINCT.
struct Grouping {
    List* clause;        // of SortGroupClause
    int named_keys;      // in core's nodes: from 16 on without what is redundant
    bool has_keys;       // of which none may be left: groups of no rows are none
    List* entries;       // of TargetEntry, the keys among them
    List* having;        // conditions, implicitly ANDed
    PathTarget* target;  // what groups give
    List* pathkeys;      // of rows that are sorted by the keys
    bool can_hash;
    bool can_sort;
    UpperRelationKind partial;  // whose relation partial groups are of
};

struct GroupCall {
    PlannerInfo* root;
    RelOptInfo* grouped;
    Grouping by;
    List* clause;        // the same, and that of the distinct count
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
