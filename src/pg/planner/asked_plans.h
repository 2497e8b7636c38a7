// Asking the keeper for what a plan would use if it were kept, without running it; and whether all is kept
// that a plan counts on: what planners know is which columns of a table are kept (kept_tables.h), but in
// which form they are wanted depends on the nodes above a scan.
#pragma once

#include "pg/keep_requests.h"

extern "C" {
#include "postgres.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// Whether it can be asked for what a query reads, as far as that is known before it is planned.
bool may_ask_for(const Query* query);

// Each scan asks for its columns in the form in which the plan's nodes want them. Nothing is asked for where
// the plan cannot be started.
void ask_keeper_for(const PlannedStmt* statement, const char* text, ParamListInfo parameters);

// Finds the tables of which scans want what is not known to be kept, which the keeper is asked for if it may
// be. False where parts of the plan cannot be started, whose tables are not looked at.
bool find_lacking_tables(const PlannedStmt* statement, const char* text, ParamListInfo parameters,
                         bool may_ask, TableSet* lacking);

}  // namespace gpujoin
