// Turns a chosen GpuJoinPath into a CustomScan; plan_data.h says what is in it.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/extensible.h"
}

namespace gpujoin {

Plan* make_join_plan(PlannerInfo* root, RelOptInfo* rel, CustomPath* best_path, List* tlist, List* clauses,
                     List* custom_plans);

}  // namespace gpujoin
