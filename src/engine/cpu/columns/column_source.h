// ColumnSource: a column that is read by row number, of a probe batch (validity bits, 32-bit offsets) or of
// the stored build side (a flag a row, 64-bit offsets). Plain pointers, not owned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/compare.h"
#include "wire/batch.h"
#include "wire/join_spec.h"

namespace gpujoin::cpu {

struct ColumnSource {
    ColumnSpec spec{};
    const std::byte* values = nullptr;    // fixed types
    const uint32_t* offsets32 = nullptr;  // Bytes, probe side
    const uint64_t* offsets64 = nullptr;  // Bytes, build side
    const std::byte* data = nullptr;      // Bytes
    uint64_t data_bytes = 0;              // of all values, as far as that is known
    const uint8_t* validity = nullptr;    // probe side: a bit a row, 1 = not NULL; or nullptr
    const uint8_t* null_flags = nullptr;  // build side: a byte a row, 1 = NULL; or nullptr

    bool has_nulls() const { return validity || null_flags; }
    bool is_null(uint64_t row) const {
        if (validity) return !(validity[row >> 3] >> (row & 7) & 1);
        return null_flags && null_flags[row];
    }
    uint64_t offset(uint64_t row) const { return offsets64 ? offsets64[row] : offsets32[row]; }
    ValueRef value(uint64_t row) const {
        if (spec.type != ColumnType::Bytes) {
            uint32_t width = fixed_width(spec.type);
            return {values + row * width, width};
        }
        uint64_t start = offset(row);
        return {data + start, offset(row + 1) - start};
    }
};

inline ColumnSource probe_source(const ColumnSpec& spec, const ColumnView& view) {
    ColumnSource source;
    source.spec = spec;
    source.values = view.values;
    source.offsets32 = view.offsets;
    source.data = view.data;
    source.data_bytes = view.data_bytes;
    source.validity = view.validity;
    return source;
}

}  // namespace gpujoin::cpu
