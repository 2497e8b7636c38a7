// Gathering values by row number. Row numbers are random, so the loops keep many independent loads under way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/columns/column_source.h"
#include "engine/cpu/results/pair_queue.h"
#include "engine/key_layout.h"

namespace gpujoin::cpu {

template <typename T>
void gather_fixed(const std::byte* values, const uint32_t* rows, uint64_t count, bool extended,
                  std::byte* out) {
    const T* from = reinterpret_cast<const T*>(values);
    T* to = reinterpret_cast<T*>(out);
    if (extended) {
        for (uint64_t i = 0; i < count; i++) to[i] = rows[i] == kNoRow ? T{} : from[rows[i]];
    } else {
        for (uint64_t i = 0; i < count; i++) to[i] = from[rows[i]];
    }
}

// out[i] = the value of row rows[i]; extended: rows may be kNoRow, which gives zero bytes.
inline void gather_values(const ColumnSource& source, const uint32_t* rows, uint64_t count, bool extended,
                          std::byte* out) {
    switch (source.spec.type) {
        case ColumnType::Fixed1:
            return gather_fixed<uint8_t>(source.values, rows, count, extended, out);
        case ColumnType::Fixed2:
            return gather_fixed<uint16_t>(source.values, rows, count, extended, out);
        case ColumnType::Fixed4:
            return gather_fixed<uint32_t>(source.values, rows, count, extended, out);
        case ColumnType::Fixed8:
            return gather_fixed<uint64_t>(source.values, rows, count, extended, out);
        default:
            return gather_fixed<Key16>(source.values, rows, count, extended, out);
    }
}

// How long a value of any length is; 0 for kNoRow.
inline uint64_t length_at(const ColumnSource& source, uint32_t row) {
    return row == kNoRow ? 0 : source.offset(uint64_t{row} + 1) - source.offset(row);
}

// The same as gather_values() for values of any length. The sink is only written: the client, who can write
// there too, must not choose where a value goes.
void gather_bytes(const ColumnSource& source, const uint32_t* rows, uint64_t count, uint32_t* offsets,
                  std::byte* data);

// Writes the validity bits; false if no row is NULL.
bool gather_validity(const ColumnSource& source, const uint32_t* rows, uint64_t count, bool may_lack_row,
                     std::byte* out);

}  // namespace gpujoin::cpu
