// See value_bounds.h.
#include "engine/kept/value_bounds.h"

#include <algorithm>

#include "engine/kept/kept_numbers.h"

namespace gpujoin {

namespace {

// One bit a condition that a row can come to.
using Reached = uint64_t;
static_assert(kMaxKeptConditions <= 64);

// Compared as they are, so that several are at once; only then as what tests compare.
template <typename Number>
void extend_by(const Number* values, uint64_t count, ValueBounds* bounds) {
    Number least = values[0];
    Number greatest = values[0];
    for (uint64_t i = 1; i < count; i++) {
        least = std::min(least, values[i]);
        greatest = std::max(greatest, values[i]);
    }
    bounds->extend(in_order(least), in_order(greatest));
}

// NaN is neither less nor greater.
template <typename Float>
void extend_by_floats(const Float* values, uint64_t count, ValueBounds* bounds) {
    for (uint64_t i = 0; i < count; i++) bounds->extend(in_order(values[i]), in_order(values[i]));
}
void extend_by(const float* values, uint64_t count, ValueBounds* bounds) {
    extend_by_floats(values, count, bounds);
}
void extend_by(const double* values, uint64_t count, ValueBounds* bounds) {
    extend_by_floats(values, count, bounds);
}

// The rows from first to end.
template <typename Number>
void extend_by_rows(const ColumnView& rows, uint64_t first, uint64_t end, ValueBounds* bounds) {
    const auto* values = reinterpret_cast<const Number*>(rows.values);
    if (!rows.validity) return extend_by(values + first, end - first, bounds);
    for (uint64_t row = first; row < end; row++) {
        if (rows.is_valid(row))
            bounds->extend(in_order(values[row]), in_order(values[row]));
        else
            bounds->has_nulls = 1;
    }
}

struct Outcomes {
    bool may_pass;
    bool may_fail;
};

Outcomes outcomes_of_values(const KeptCondition& condition, const ValueBounds& bounds) {
    const auto low = static_cast<uint64_t>(condition.interval.low);
    const uint64_t last = low + condition.interval.span;
    // An interval may go on from the greatest integer at the least one.
    const auto high = static_cast<int64_t>(last);
    if (high < condition.interval.low) return {true, true};
    const bool may_be_inside = bounds.least <= high && bounds.greatest >= condition.interval.low;
    const bool may_be_outside = bounds.least < condition.interval.low || bounds.greatest > high;
    if (condition.test == KeptTest::Inside) return {may_be_inside, may_be_outside};
    return {may_be_outside, may_be_inside};
}

Outcomes outcomes_of(const KeptCondition& condition, const ValueBounds* bounds) {
    if (!bounds || condition.is_of_bytes()) return {true, true};
    Outcomes outcomes{};
    if (bounds->has_values()) outcomes = outcomes_of_values(condition, *bounds);
    if (bounds->has_nulls) (condition.null_passes ? outcomes.may_pass : outcomes.may_fail) = true;
    return outcomes;
}

// Whether it is the end, with the row wanted.
bool go_on(uint8_t next, Reached* reached) {
    if (next < kRowIsWanted) *reached |= Reached{1} << next;
    return next == kRowIsWanted;
}

}  // namespace

bool has_bounds(const ColumnSpec& spec) {
    return has_numbers(spec);
}

void extend_bounds(const ColumnSpec& spec, const ColumnView& rows, uint64_t count, uint64_t before,
                   ValueBounds* bounds) {
    with_number(spec, [&](auto number) {
        for (uint64_t first = 0; first < count;) {
            const uint64_t stretch = (before + first) / kStretchRows;
            const uint64_t end = std::min(count, (stretch + 1) * kStretchRows - before);
            if ((before + first) % kStretchRows == 0) bounds[stretch] = kNoValues;
            extend_by_rows<decltype(number)>(rows, first, end, &bounds[stretch]);
            first = end;
        }
    });
}

bool may_pass(std::span<const KeptCondition> conditions, std::span<const ValueBounds* const> bounds) {
    if (conditions.empty()) return true;
    Reached reached = 1;
    for (size_t i = 0; i < conditions.size(); i++) {
        if (!(reached >> i & 1)) continue;
        const Outcomes outcomes = outcomes_of(conditions[i], bounds[i]);
        if (outcomes.may_pass && go_on(conditions[i].if_passed, &reached)) return true;
        if (outcomes.may_fail && go_on(conditions[i].if_failed, &reached)) return true;
    }
    return false;
}

}  // namespace gpujoin
