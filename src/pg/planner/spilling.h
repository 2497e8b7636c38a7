// Spilling: joins whose build sides do not fit the memory that a join may take in the server run in
// partitions, by temporary files (executor/partitions.h). What that costs beside the joins.
#pragma once

#include "pg/planner/cost.h"
#include "pg/planner/reasons.h"

namespace gpujoin {

// Whether build sides of so many bytes in the server have to be spilled.
bool is_spilled(const EngineCosts& engine, double server_bytes);

// Whether it can, at these costs: what it writes stays within temp_file_limit, and in a parallel plan all
// have a part in it.
bool may_spill(PlannerInfo* root, const JoinInputs& inputs, const EngineCosts& engine, double server_bytes);

Refusal refusal_for_memory(double server_bytes);

// The costs of a chain up to this join, where its build sides may have to be spilled: then also what each
// participant writes and reads, as core charges its hash joins for pages. What is kept of its inputs is not
// counted on then, since rows are written as they are read.
ChainCosts chain_costs(PlannerInfo* root, const JoinInputs& inputs, const EngineCosts& engine);

}  // namespace gpujoin
