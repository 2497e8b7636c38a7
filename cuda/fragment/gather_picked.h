// Gathering picked columns into batches and results: values side by side, validity as bits, and for Bytes
// columns offsets and data. NULLs have zero bytes.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/fragment/picked_view.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// Some of the rows: those from `first` on; or of a list of rows, what the list has from there on.
struct RowChoice {
    uint64_t first = 0;
    const uint32_t* list = nullptr;

    GPUJOIN_HD uint64_t operator()(uint64_t i) const { return list ? list[first + i] : first + i; }
};

// Where a column goes. Places are multiples of 8 bytes.
struct PickedTarget {
    PickedView from;
    std::byte* values = nullptr;    // fixed types
    uint32_t* validity = nullptr;   // with room to the end of the last word; nullptr: not wanted
    uint8_t* null_flags = nullptr;  // the same as bytes, 1 = NULL; nullptr: not wanted
};

// Values of fixed types, and NULLs of all.
Status gather_picked(const WorkContext& context, std::span<const PickedTarget> targets, RowChoice choice,
                     uint64_t rows);

// Of a Bytes column: where each value begins if they lie side by side, and the end. rows + 1.
Status find_picked_starts(const WorkContext& context, const PickedView& column, RowChoice choice,
                          uint64_t rows, uint64_t* starts);

// The values by these starts, of which there are so many bytes. offsets: the starts once more; nullptr: not
// wanted.
Status gather_picked_bytes(const WorkContext& context, const PickedView& column, RowChoice choice,
                           uint64_t rows, const uint64_t* starts, uint64_t data_bytes, uint32_t* offsets,
                           std::byte* data);

}  // namespace gpujoin::cuda
