// Which range terms drive a search, where those of several build columns could: the choice is made on samples
// of the build rows and of the first probe batch, which shows how wide the intervals are that each column's
// terms leave. It matters most for bands in two dimensions: |x - x'| <= 1000 AND |y - y'| <= 1.
#pragma once

#include "engine/cpu/context.h"

namespace gpujoin::cpu {

// Whether the terms are on several build columns.
bool has_range_choice(const JoinSpec& spec);

// The build column whose terms leave the fewest candidates to the rows of the batch; the one that would be
// taken without looking, unless another is better by far.
uint16_t choose_range_column(const JoinContext& join, const BatchView& batch);

}  // namespace gpujoin::cpu
