// Reading columns as operands of filter programs, for a number of rows at once.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/cpu/columns/column_source.h"
#include "engine/host_device.h"

namespace gpujoin::cpu {

// Reads `lanes` values of a column, widened; row(i) is the row of lane i.
template <typename T, typename Wide, typename Row>
GPUJOIN_INLINE void read_values(const std::byte* values, uint32_t lanes, const Row& row, int64_t* to) {
    const T* from = reinterpret_cast<const T*>(values);
    for (uint64_t i = 0; i < lanes; i++) to[i] = std::bit_cast<int64_t>(static_cast<Wide>(from[row(i)]));
}

template <typename Row>
GPUJOIN_INLINE void read_column(const ColumnSource& column, uint32_t lanes, const Row& row, int64_t* to) {
    const bool is_signed = column.spec.order == ValueOrder::Signed;
    const bool is_float = column.spec.order == ValueOrder::Float;
    switch (column.spec.type) {
        case ColumnType::Fixed1:
            return is_signed ? read_values<int8_t, int64_t>(column.values, lanes, row, to)
                             : read_values<uint8_t, int64_t>(column.values, lanes, row, to);
        case ColumnType::Fixed2:
            return is_signed ? read_values<int16_t, int64_t>(column.values, lanes, row, to)
                             : read_values<uint16_t, int64_t>(column.values, lanes, row, to);
        case ColumnType::Fixed4:
            if (is_float) return read_values<float, double>(column.values, lanes, row, to);
            return is_signed ? read_values<int32_t, int64_t>(column.values, lanes, row, to)
                             : read_values<uint32_t, int64_t>(column.values, lanes, row, to);
        default:
            return read_values<int64_t, int64_t>(column.values, lanes, row, to);
    }
}

template <typename Row>
GPUJOIN_INLINE uint64_t read_nulls(const ColumnSource& column, uint32_t lanes, const Row& row) {
    uint64_t nulls = 0;
    if (!column.has_nulls()) return nulls;
    for (uint64_t i = 0; i < lanes; i++) nulls |= uint64_t{column.is_null(row(i))} << i;
    return nulls;
}

}  // namespace gpujoin::cpu
