// SinkRows: the rows that a thread runs programs over (engine/filter_machine.h), as the probe sides of pairs.
#pragma once

#include <cstdint>

#include "cuda/filter/filter_pairs.cuh"
#include "cuda/fragment/picked_view.cuh"

namespace gpujoin::cuda {

// So many rows as numbers says, which are of the inputs.
template <uint32_t kRows>
struct SinkRows {
    static constexpr uint32_t kLanes = kRows;
    static constexpr bool kOneProbeRow = false;
    using Mask = uint32_t;

    const PickedView* inputs;
    uint64_t numbers[kRows];

    GPUJOIN_HD GPUJOIN_INLINE Mask fetch(FilterSource, uint16_t input, int64_t (&to)[kLanes]) const {
        const PickedView column = inputs[input];
        uint64_t rows[kLanes], bits[kLanes];
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kLanes; i++) rows[i] = column.row(numbers[i]);
        load_picked(column, rows, bits);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kLanes; i++) to[i] = filter_value(bits[i], column.width, column.spec.order);
        return nulls_of(column, rows);
    }
};

}  // namespace gpujoin::cuda
