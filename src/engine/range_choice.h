// Which range terms drive a search, where those of several build columns could: the choice is made on samples
// of the build rows and of the first probe batch, which shows how wide the intervals are that each column's
// terms leave. It matters most for bands in two dimensions: |x - x'| <= 1000 AND |y - y'| <= 1.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "wire/join_spec.h"
#include "wire/status.h"

namespace gpujoin {

// Whether the terms are on several build columns.
bool has_range_choice(const JoinSpec& spec);

// The build column to search by where nothing is known of the rows: the first that terms bound from below and
// from above, since it is likely to leave few candidates. At least one range.
uint16_t likely_range_column(const JoinSpec& spec);

// The order key of a sampled row, unless it is NULL.
struct SampledKey {
    uint64_t key;
    bool valid;
};

// One side's rows, and how an engine reads a column of rows 0, step, 2 * step … (keys->size() of them).
struct SampledSide {
    uint64_t rows;
    std::function<Status(uint16_t column, uint64_t step, std::vector<SampledKey>* keys)> read;
};

// The build column whose terms leave the fewest candidates to the rows of the batch; the likely one unless
// another is better by far.
Status choose_range_column(const JoinSpec& spec, const SampledSide& probe, const SampledSide& build,
                           uint16_t* column);

}  // namespace gpujoin
