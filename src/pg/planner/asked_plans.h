// Asking the keeper for what a plan would use if it were kept, without running it.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/params.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

// Each scan asks for its columns in the form in which the plan's nodes want them. Nothing is asked for where
// more than tables would come to know that the plan is started.
void ask_keeper_for(PlannedStmt* statement, const char* text, ParamListInfo parameters);

}  // namespace gpujoin
