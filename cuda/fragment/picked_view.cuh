// PickedView: how kernels see a picked column (engine/fragment/aggregator.h), whose values lie as in batches
// and results, or as groups have them.
#pragma once

#include <cstdint>

#include "engine/compare.h"
#include "engine/fragment/aggregator.h"
#include "engine/host_device.h"

namespace gpujoin::cuda {

// Pointers are device memory, not owned.
struct PickedView {
    const uint8_t* validity = nullptr;    // a bit a row, 1 = not NULL; nullptr: not kept
    const uint8_t* null_flags = nullptr;  // a byte a row, 1 = NULL; nullptr: not kept
    const std::byte* values = nullptr;    // fixed types
    const uint32_t* offsets = nullptr;    // Bytes: rows + 1, or
    const uint64_t* starts = nullptr;     // the same
    const std::byte* data = nullptr;      // Bytes
    const uint32_t* rows = nullptr;       // the i-th row is rows[i]; nullptr: i
    ColumnSpec spec = {};
    uint32_t width = 0;  // 0 for Bytes

    bool is_there() const { return values || offsets || starts; }
    GPUJOIN_HD uint64_t row(uint64_t i) const { return rows ? rows[i] : i; }

    // What follows is of rows as row() gives them.
    GPUJOIN_HD bool is_null(uint64_t row) const {
        if (null_flags) return null_flags[row];
        return validity && !(validity[row >> 3] >> (row & 7) & 1);
    }
    GPUJOIN_HD ValueRef value(uint64_t row) const {
        if (width) return {values + row * width, width};
        if (starts) return {data + starts[row], starts[row + 1] - starts[row]};
        return {data + offsets[row], offsets[row + 1] - offsets[row]};
    }
};

// Several rows at once, whose width so is asked for once. Of fixed types of up to 8 bytes.
template <typename Stored, uint32_t kRows>
GPUJOIN_HD GPUJOIN_INLINE void load_words(const std::byte* values, const uint64_t (&rows)[kRows],
                                          uint64_t (&bits)[kRows]) {
    GPUJOIN_UNROLL
    for (uint32_t i = 0; i < kRows; i++) bits[i] = reinterpret_cast<const Stored*>(values)[rows[i]];
}
template <uint32_t kRows>
GPUJOIN_HD GPUJOIN_INLINE void load_picked(const PickedView& column, const uint64_t (&rows)[kRows],
                                           uint64_t (&bits)[kRows]) {
    switch (column.width) {
        case 1:
            return load_words<uint8_t>(column.values, rows, bits);
        case 2:
            return load_words<uint16_t>(column.values, rows, bits);
        case 4:
            return load_words<uint32_t>(column.values, rows, bits);
        default:
            return load_words<uint64_t>(column.values, rows, bits);
    }
}

// A bit for each of the rows.
template <uint32_t kRows>
GPUJOIN_HD GPUJOIN_INLINE uint32_t nulls_of(const PickedView& column, const uint64_t (&rows)[kRows]) {
    uint32_t nulls = 0;
    if (!column.null_flags && !column.validity) return nulls;
    GPUJOIN_UNROLL
    for (uint32_t i = 0; i < kRows; i++) nulls |= static_cast<uint32_t>(column.is_null(rows[i])) << i;
    return nulls;
}

inline PickedView picked_view(const PickedColumn& picked) {
    PickedView view;
    view.validity = picked.column.validity;
    view.values = picked.column.values;
    view.offsets = picked.column.offsets;
    view.data = picked.column.data;
    view.rows = picked.rows;
    view.spec = picked.spec;
    view.width = fixed_width(picked.spec.type);
    return view;
}

}  // namespace gpujoin::cuda
