// The values of a thread's rows, and SinkRows: those rows as programs run over them
// (engine/filter_machine.h), as the probe sides of pairs.
#pragma once

#include <cstdint>

#include "cuda/filter/filter_pairs.cuh"
#include "cuda/fragment/picked_view.cuh"

namespace gpujoin::cuda {

// The values of rows of a column, of a fixed type of up to 8 bytes, as programs have them. Returns which are
// NULL.
template <uint32_t kRows>
GPUJOIN_HD GPUJOIN_INLINE uint32_t fetch_values(const PickedView& column, const uint64_t (&numbers)[kRows],
                                                int64_t (&to)[kRows]) {
    uint64_t rows[kRows], bits[kRows];
    GPUJOIN_UNROLL
    for (uint32_t i = 0; i < kRows; i++) rows[i] = column.row(numbers[i]);
    load_picked(column, rows, bits);
    filter_values(bits, column.width, column.spec.order, to);
    return nulls_of(column, rows);
}

// So many rows as numbers says, which are of the inputs.
template <uint32_t kRows>
struct SinkRows {
    static constexpr uint32_t kLanes = kRows;
    static constexpr bool kOneProbeRow = false;
    using Mask = uint32_t;

    const PickedView* inputs;
    uint64_t numbers[kRows];

    GPUJOIN_HD GPUJOIN_INLINE Mask fetch(FilterSource, uint16_t input, int64_t (&to)[kLanes]) const {
        return fetch_values(PickedView(inputs[input]), numbers, to);
    }
};

}  // namespace gpujoin::cuda
