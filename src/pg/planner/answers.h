// What can be told of each join and aggregate of a statement that was planned while a recorder (verdicts.h)
// was there: whether it is taken, and if not, why. For gpujoin_why() and EXPLAIN.
#pragma once

#include "pg/planner/planned_joins.h"
#include "pg/planner/verdicts.h"

namespace gpujoin {

struct JoinAnswer {
    const PlannedJoin* join;
    List* tables;        // of char*, as EXPLAIN names them
    const char* reason;  // nullptr: it is taken
    const char* advice;  // nullptr: there is none
};

// Of JoinAnswer, from the top of the plan. In the current memory context, with what was recorded.
List* answers_of(const PlannedStmt* statement, const Recorder* record);

}  // namespace gpujoin
