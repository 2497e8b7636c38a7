// Gather kernels: the values of a column at given rows, written in the result layout. rows: source rows,
// kNoRow for none, whose value is NULL.
#pragma once

#include <cstdint>

#include "cuda/columns/column_view.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

Status gather_fixed(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                    uint64_t count, std::byte* values);

Status gather_validity(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                       uint64_t count, std::byte* validity);

// The lengths of a Bytes column's values; lengths[count] is set to 0.
Status gather_lengths(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                      uint64_t count, uint64_t* lengths);

// Writes 32-bit offsets and the data. starts: sums of the lengths, count + 1.
Status gather_bytes(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                    const uint64_t* starts, uint64_t count, uint64_t data_bytes, std::byte* offsets,
                    std::byte* data);

// Row numbers as uint64, kNoRow as kNoBuildRow.
Status widen_rows(const WorkContext& context, const uint32_t* rows, uint64_t count, std::byte* target);

}  // namespace gpujoin::cuda
