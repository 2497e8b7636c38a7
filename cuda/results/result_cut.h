// Cutting rows with values of any length where a sink is full.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/work/work.h"
#include "engine/result_layout.h"

namespace gpujoin::cuda {

// What is found: how many rows fit, the bytes that the first row alone needs, and by column the bytes of its
// values in the rows that fit, of any length.
struct ResultCut {
    uint64_t* rows;
    uint64_t* needed;
    uint64_t* data_bytes;
};

// Cuts `count` rows, at least one, for a sink of `budget` bytes. starts: for each of the Bytes columns where
// its values begin, and the end. Waits for the stream.
Status cut_result(const WorkContext& context, std::span<const ResultColumn> columns, const ResultShape& shape,
                  const uint64_t* starts, uint64_t count, uint64_t budget, const ResultCut& cut);

}  // namespace gpujoin::cuda
