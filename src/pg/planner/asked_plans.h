// Asking the keeper for what a plan would use if it were kept, without running it.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// Whether queries can be asked for so: where others than tables come to know of plans that are started, none.
bool may_ask_for(const Query* query);

// Each scan asks for its columns in the form in which the plan's nodes want them. False where not all could
// be asked for.
bool ask_keeper_for(PlannedStmt* statement, const char* text, ParamListInfo parameters);

}  // namespace gpujoin
