// The pairs that threads run filter programs on (engine/filter_machine.h): a tile's lanes, which are one
// probe row and consecutive build positions, and single pairs.
#pragma once

#include <cstdint>

#include "cuda/columns/column_view.cuh"
#include "engine/filter_machine.h"
#include "engine/key_layout.h"

namespace gpujoin::cuda {

inline constexpr uint32_t kFilterLanes = 16;

// A value as filter programs have it, of its bytes.
GPUJOIN_HD inline int64_t filter_value(uint64_t bits, uint32_t width, ValueOrder order) {
    if (order == ValueOrder::Float && width == 4)
        return as_bits(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    if (order != ValueOrder::Signed) return static_cast<int64_t>(bits);
    uint32_t unused = 64 - 8 * width;
    return static_cast<int64_t>(bits << unused) >> unused;
}

// Several values of a column, so that it is looked at once.
template <uint32_t kRows>
GPUJOIN_HD GPUJOIN_INLINE void filter_values(const uint64_t (&bits)[kRows], uint32_t width, ValueOrder order,
                                             int64_t (&to)[kRows]) {
    if (width == sizeof(uint64_t)) {
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) to[i] = static_cast<int64_t>(bits[i]);
        return;
    }
    GPUJOIN_UNROLL
    for (uint32_t i = 0; i < kRows; i++) to[i] = filter_value(bits[i], width, order);
}

GPUJOIN_HD inline int64_t filter_value(const DeviceColumn& column, uint64_t row) {
    return filter_value(load_unsigned(column.values + row * column.width, column.width), column.width,
                        column.spec.order);
}

// A column made ready for tiles: values, and for each 32 rows a word of bits for the NULLs among them. Both
// reach to the end of the last tile's lanes.
struct FilterColumn {
    const int64_t* values;
    const uint32_t* nulls;

    GPUJOIN_HD bool is_null(uint64_t row) const { return nulls[row / 32] >> (row % 32) & 1; }
};

// Lanes of a tile: position is a multiple of kFilterLanes.
struct TilePairs {
    static constexpr uint32_t kLanes = kFilterLanes;
    static constexpr bool kOneProbeRow = true;
    using Mask = uint32_t;

    // Several values that are loaded at once.
    struct alignas(16) Values {
        int64_t value[2];
    };

    const FilterColumn* probe;
    const FilterColumn* build;
    uint64_t row;
    uint64_t position;

    GPUJOIN_HD GPUJOIN_INLINE int64_t probe_value(uint16_t column) const { return probe[column].values[row]; }
    GPUJOIN_HD GPUJOIN_INLINE bool probe_is_null(uint16_t column) const { return probe[column].is_null(row); }
    GPUJOIN_HD GPUJOIN_INLINE Mask fetch(FilterSource, uint16_t column, int64_t (&to)[kLanes]) const {
        const FilterColumn& from = build[column];
        const Values* values = reinterpret_cast<const Values*>(from.values + position);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kLanes / 2; i++) {
            const Values loaded = values[i];
            to[2 * i] = loaded.value[0];
            to[2 * i + 1] = loaded.value[1];
        }
        return from.nulls[position / 32] >> (position % 32);
    }
};

// One pair, of columns as they are.
struct SinglePair {
    static constexpr uint32_t kLanes = 1;
    static constexpr bool kOneProbeRow = false;
    using Mask = uint32_t;

    const DeviceColumn* probe;
    const DeviceColumn* build;
    uint64_t probe_row;
    uint64_t build_row;

    GPUJOIN_HD GPUJOIN_INLINE Mask fetch(FilterSource source, uint16_t number, int64_t (&to)[kLanes]) const {
        const bool of_probe = source == FilterSource::Probe;
        const DeviceColumn& column = (of_probe ? probe : build)[number];
        const uint64_t row = of_probe ? probe_row : build_row;
        to[0] = filter_value(column, row);
        return !column.is_valid(row);
    }
};

}  // namespace gpujoin::cuda
