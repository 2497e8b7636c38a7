// The flags of rows of a file that have found a match (partition.h), set from results as they come. Their
// rows go by the numbers of the batches, which are few of the file's where flagged rows are left out.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// The next batch begins with the row that was read last.
void match_flags_begin_batch(const Side* side, ProbeBatch* batch);

// A row of the oldest batch has a match. To be called in the order of rows.
void flag_match(GpuJoinState* state, uint32_t probe_row);

// All rows of the result in hand have one.
void flag_matches(GpuJoinState* state);

}  // namespace gpujoin
