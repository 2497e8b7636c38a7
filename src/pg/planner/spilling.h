// Spilling: joins whose build side does not fit the memory that joins may take in the server run in
// partitions, by temporary files (executor/partitions.h). What that costs beside the join.
#pragma once

#include "pg/planner/cost.h"

namespace gpujoin {

// Whether it can at these costs: it has keys that divide it, what it writes stays within temp_file_limit, and
// no kept rows are counted on, which would have to be read. server_bytes: of its build side in the server,
// where a join may take so many bytes of memory.
bool may_spill(PlannerInfo* root, const JoinInputs& inputs, double server_bytes, uint64 memory);

// For each participant, what it writes and reads. As core charges its hash joins: for pages.
Cost spilling_cost(const JoinInputs& inputs, double server_bytes, uint64 memory);

}  // namespace gpujoin
