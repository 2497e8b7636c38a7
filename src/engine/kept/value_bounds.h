// Bounds of a kept column's values: the least and the greatest of each stretch of some thousand rows, by
// which scans know, without looking at a row, that none of a stretch meets their conditions. Known as zone
// maps (small materialized aggregates: Moerkotte, 1998). Rows of a table lie mostly in the order in which
// they came, as do their dates and numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "wire/batch.h"
#include "wire/kept.h"

namespace gpujoin {

inline constexpr uint64_t kStretchRows = 8192;

// Of the values of a stretch, as the integers that tests compare. Without a value the least is greater.
struct ValueBounds {
    int64_t least;
    int64_t greatest;
    uint64_t has_nulls;

    bool has_values() const { return least <= greatest; }
    void extend(int64_t from, int64_t to) {
        least = std::min(least, from);
        greatest = std::max(greatest, to);
    }
    void extend(const ValueBounds& other) {
        extend(other.least, other.greatest);
        has_nulls |= other.has_nulls;
    }
};
inline constexpr ValueBounds kNoValues = {std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int64_t>::min(), 0};

// Whether columns of this kind have bounds: those whose values are tested as integers.
bool has_bounds(const ColumnSpec& spec);

// Extends the bounds of the last stretches by rows that come behind so many others. bounds: of all stretches
// up to the last row's; those that begin with these rows have any value. The column has bounds.
void extend_bounds(const ColumnSpec& spec, const ColumnView& rows, uint64_t count, uint64_t before,
                   ValueBounds* bounds);

// Whether a row of a stretch can meet the conditions, which are sound and can be tested. bounds: of the
// stretch, by condition; nullptr where its column has none.
bool may_pass(std::span<const KeptCondition> conditions, std::span<const ValueBounds* const> bounds);

}  // namespace gpujoin
