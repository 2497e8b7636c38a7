// How kernels see a column, of either side: one byte of validity a row, and for Bytes columns an address and
// a length a row, so that values stay where they arrived and columns grow without copying data.
#pragma once

#include <cstdint>

#include "engine/compare.h"
#include "engine/host_device.h"
#include "wire/batch.h"
#include "wire/join_spec.h"

namespace gpujoin::cuda {

// The build row of a result that has none.
inline constexpr uint32_t kNoRow = ~uint32_t{0};

// Pointers are device memory, not owned.
struct DeviceColumn {
    const uint8_t* valid = nullptr;               // nullptr: no NULLs
    const std::byte* values = nullptr;            // fixed types
    const std::byte* const* addresses = nullptr;  // Bytes
    const uint32_t* lengths = nullptr;            // Bytes
    ColumnSpec spec = {};
    uint32_t width = 0;  // 0 for Bytes

    GPUJOIN_HD bool is_valid(uint64_t row) const { return !valid || valid[row]; }
    GPUJOIN_HD ValueRef value(uint64_t row) const {
        return width ? ValueRef{values + row * width, width} : ValueRef{addresses[row], lengths[row]};
    }
};

// Whether a term holds for a pair of rows. Both arrays have one entry a column of their input.
GPUJOIN_HD inline bool term_holds(const Term& term, const DeviceColumn* probe, uint64_t probe_row,
                                  const DeviceColumn* build, uint64_t build_row) {
    const DeviceColumn& left = probe[term.probe_column];
    const DeviceColumn& right = build[term.build_column];
    if (!left.is_valid(probe_row) || !right.is_valid(build_row)) return false;
    ValueRef p = left.value(probe_row);
    ValueRef b = right.value(build_row);
    if (term.comparison == Comparison::Equal) return equal_values(p, b);
    return satisfies(term.comparison, compare_values(right.spec, p, b));
}

// The columns of one side that must not be NULL in a row that can match.
struct RequiredColumns {
    const uint16_t* numbers = nullptr;
    uint32_t count = 0;

    GPUJOIN_HD bool present(const DeviceColumn* columns, uint64_t row) const {
        for (uint32_t i = 0; i < count; i++) {
            if (!columns[numbers[i]].is_valid(row)) return false;
        }
        return true;
    }
};

}  // namespace gpujoin::cuda
