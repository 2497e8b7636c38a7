// Plans without a node of ours are those that core makes. Paths of ours push core's out of relations, and
// estimates are corrected where a join of ours is looked at; when in the end none is taken, what is left need
// not be core's plan, of which it is known how it does.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// While core's plan is made: nothing of ours is proposed.
bool is_core_alone();

// How often something has been done in this process that core's plan may be another one for.
uint64 influences();
void note_influence();
// They have come to nothing since there were so many.
void forget_influences(uint64 before);

// Whether a plan that has been made since then is to be made by core alone: it has none of our nodes, and
// takes long enough for it to matter.
bool has_lost_core_plan(const PlannedStmt* statement, uint64 before);

// Until it is set to what is given back.
bool set_core_alone(bool is_alone);

// Calls the function, which plans, while core is alone.
template <typename Plans>
PlannedStmt* plan_by_core_alone(const Plans& plans) {
    const bool before = set_core_alone(true);
    PlannedStmt* statement = nullptr;
    PG_TRY();
    { statement = plans(); }
    PG_FINALLY();
    { set_core_alone(before); }
    PG_END_TRY();
    return statement;
}

}  // namespace gpujoin
