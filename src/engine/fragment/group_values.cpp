// Accumulating, an aggregate after the other. Where there are no keys the rows of a block are first added up
// among themselves. What rounding takes from sums of floats is added up as well (compensated summation:
// A. Neumaier, ZAMM 54, 1974, by the exact error of an addition: D. Knuth, TAOCP 2, 4.2.2), so that they are
// as good as the same in any order.
#include "engine/fragment/group_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "engine/cpu/work/simd.h"
#include "engine/filter_values.h"

namespace gpujoin {

namespace {

using Sum = __int128;

bool is_less(int64_t a, int64_t b, bool is_float) {
    return is_float ? floats_less(as_double(a), as_double(b)) : a < b;
}

// What any value is less than, or equal to; or the other way round.
int64_t greatest(bool is_float) {
    return is_float ? as_bits(std::numeric_limits<double>::quiet_NaN()) : std::numeric_limits<int64_t>::max();
}
int64_t least(bool is_float) {
    return is_float ? as_bits(-std::numeric_limits<double>::infinity()) : std::numeric_limits<int64_t>::min();
}

// Any float and -0 are that float; with 0, -0 would be 0.
constexpr double kEmptySum = -0.0;

// What there is of no row, in one word.
int64_t nothing_of(AggregateFunction function, bool is_float) {
    switch (function) {
        case AggregateFunction::Minimum:
            return greatest(is_float);
        case AggregateFunction::Maximum:
            return least(is_float);
        case AggregateFunction::Sum:
            return is_float ? as_bits(kEmptySum) : 0;
        default:
            return 0;
    }
}

// The halves are added up apart, in words that cannot overflow.
GPUJOIN_VECTOR Sum sum_of(const int64_t* values, uint64_t rows) {
    uint64_t low = 0;
    int64_t high = 0;
    for (uint64_t i = 0; i < RowBlock::kMostLanes; i++) {
        const int64_t value = rows >> i & 1 ? values[i] : 0;
        low += static_cast<uint32_t>(value);
        high += value >> 32;
    }
    return (static_cast<Sum>(high) * (Sum{1} << 32)) + low;
}

// What the finite ones amount to, without their signs.
GPUJOIN_VECTOR double size_of(const int64_t* values, uint64_t rows) {
    double size = 0;
    for (uint64_t i = 0; i < RowBlock::kMostLanes; i++) {
        const double value = std::fabs(as_double(values[i]));
        size += (rows >> i & 1) && value <= std::numeric_limits<double>::max() ? value : 0;
    }
    return size;
}

// groups: nullptr where there is one alone.
void add_integers(Sum* sums, uint8_t* nulls, const int64_t* values, uint64_t rows, const uint32_t* groups) {
    if (!groups) {
        sums[0] += sum_of(values, rows);
        nulls[0] = 0;
        return;
    }
    for_each_lane(rows, [&](uint32_t lane) {
        sums[groups[lane]] += values[lane];
        nulls[groups[lane]] = 0;
    });
}

// What is lost of numbers that are not finite is NaN.
void add_float(double number, double* sum, double* lost) {
    const double before = *sum, after = before + number;
    const double added = after - before;
    *lost += (before - (after - added)) + (number - added);
    *sum = after;
}

void add_floats(FloatSums sums, uint8_t* nulls, const int64_t* values, uint64_t rows,
                const uint32_t* groups) {
    for_each_lane(rows, [&](uint32_t lane) {
        const uint32_t group = groups ? groups[lane] : 0;
        add_float(as_double(values[lane]), &sums.sum[group], &sums.lost[group]);
        nulls[group] = 0;
    });
}

// What came of numbers that are not finite is as it is; and -0 stays what it is where nothing was lost.
void round_sums(FloatSums sums, uint32_t groups) {
    for (uint32_t i = 0; i < groups; i++)
        if (std::isfinite(sums.sum[i]) && sums.lost[i] != 0) sums.sum[i] += std::exchange(sums.lost[i], 0.0);
}

void count_rows(int64_t* counts, uint64_t rows, const uint32_t* groups) {
    if (!groups) {
        counts[0] += std::popcount(rows);
        return;
    }
    for_each_lane(rows, [&](uint32_t lane) { counts[groups[lane]]++; });
}

template <bool kIsFloat, bool kIsMinimum>
void take_extreme(int64_t* extremes, uint8_t* nulls, const int64_t* values, uint64_t rows,
                  const uint32_t* groups) {
    for_each_lane(rows, [&](uint32_t lane) {
        const uint32_t group = groups ? groups[lane] : 0;
        const int64_t value = values[lane];
        const int64_t before = extremes[group];
        // Of equal ones the last, as in PostgreSQL: there are two zeros.
        const bool is_worse =
            kIsMinimum ? is_less(before, value, kIsFloat) : is_less(value, before, kIsFloat);
        extremes[group] = is_worse ? before : value;
        nulls[group] = 0;
    });
}

}  // namespace

GroupValues::GroupValues(const SinkPlan& plan, RowStore* store)
    : plan_(plan),
      store_(*store),
      summed_floats_(summed_floats(plan)),
      sizes_(summed_floats_.size()),
      next_sizes_(summed_floats_.size()) {
    auto column = static_cast<uint32_t>(plan.keys.size());
    auto lost = static_cast<uint32_t>(plan.group_columns.size());
    for (const AggregateSpec& aggregate : plan.aggregates) {
        const uint32_t own = is_sum_of_floats(plan, aggregate) ? lost++ : 0;
        aggregates_.push_back({aggregate, is_of_floats(plan, aggregate), column++, own});
    }
}

bool GroupValues::has_range(const RowBlock& block, const SinkPrograms& programs) {
    for (size_t i = 0; i < summed_floats_.size(); i++) {
        const BlockValues& values = programs[summed_floats_[i]];
        next_sizes_[i] = sizes_[i] + size_of(values.value, block.all() & ~values.null & ~values.undecided);
        if (next_sizes_[i] > kMostSummed && block.lanes + store_.rows() > 1) return false;
    }
    return true;
}

void GroupValues::take_range() {
    sizes_.swap(next_sizes_);
}

void GroupValues::begin(const RowBlock& block, const uint32_t* lanes, uint32_t count) {
    const uint32_t first = store_.rows();
    for (const Aggregate& aggregate : aggregates_) {
        const uint32_t column = aggregate.column;
        if (aggregate.spec.function == AggregateFunction::Any) {
            const HostColumn& input = block.columns[aggregate.spec.value];
            uint32_t rows[RowBlock::kMostLanes];
            for (uint32_t i = 0; i < count; i++) rows[i] = input.row(block.first + lanes[i]);
            store_.write(column, input.source, rows, count);
            continue;
        }
        if (uint8_t* nulls = store_.null_flags(column)) std::memset(nulls + first, 1, count);
        if (aggregate.spec.function == AggregateFunction::Sum && !aggregate.is_float) {
            std::fill_n(store_.values<Sum>(column) + first, count, Sum{0});
            continue;
        }
        std::fill_n(store_.values<int64_t>(column) + first, count,
                    nothing_of(aggregate.spec.function, aggregate.is_float));
        if (aggregate.lost) std::fill_n(store_.values<double>(aggregate.lost) + first, count, 0.0);
    }
}

void GroupValues::add(const SinkPrograms& programs, uint64_t rows, const uint32_t* groups) {
    const uint32_t* const groups_of_rows = plan_.keys.empty() ? nullptr : groups;
    for (const Aggregate& aggregate : aggregates_) {
        if (aggregate.spec.function == AggregateFunction::Any) continue;
        uint64_t added = rows & programs.passed(aggregate.spec);
        const BlockValues* values = nullptr;
        if (aggregate.spec.value != kNoNumber) {
            values = &programs[aggregate.spec.value];
            added &= ~values->null;
        }
        if (added != 0) add_to(aggregate, values, added, groups_of_rows);
    }
}

FloatSums GroupValues::sums_of(const Aggregate& aggregate) const {
    return {store_.values<double>(aggregate.column), store_.values<double>(aggregate.lost)};
}

// Sums of integers stay within 127 bits: it would take 2^64 rows to leave these.
void GroupValues::add_to(const Aggregate& aggregate, const BlockValues* values, uint64_t rows,
                         const uint32_t* groups) {
    const uint32_t column = aggregate.column;
    auto* words = store_.values<int64_t>(column);
    uint8_t* const nulls = store_.null_flags(column);
    switch (aggregate.spec.function) {
        case AggregateFunction::Count:
            return count_rows(words, rows, groups);
        case AggregateFunction::Sum:
            if (aggregate.is_float) return add_floats(sums_of(aggregate), nulls, values->value, rows, groups);
            return add_integers(store_.values<Sum>(column), nulls, values->value, rows, groups);
        case AggregateFunction::Minimum:
            return aggregate.is_float ? take_extreme<true, true>(words, nulls, values->value, rows, groups)
                                      : take_extreme<false, true>(words, nulls, values->value, rows, groups);
        case AggregateFunction::Maximum:
            return aggregate.is_float ? take_extreme<true, false>(words, nulls, values->value, rows, groups)
                                      : take_extreme<false, false>(words, nulls, values->value, rows, groups);
        case AggregateFunction::Any:
            return;
    }
}

namespace {

// Adds what groups of a column have, unless it is NULL, to others of the same aggregate.
template <typename Value, typename Add>
void merge_column(const HostColumn& from, const RowBlock& block, uint64_t rows, const uint32_t* groups,
                  Value* values, uint8_t* nulls, const Add& add) {
    const auto* source = reinterpret_cast<const Value*>(from.source.values);
    for_each_lane(rows, [&](uint32_t lane) {
        const uint32_t row = from.row(block.first + lane);
        if (from.source.is_null(row)) return;
        Value& value = values[groups[lane]];
        value = add(value, source[row]);
        if (nulls) nulls[groups[lane]] = 0;
    });
}

void merge_float_sums(const HostColumn& from, const HostColumn& lost, const RowBlock& block, uint64_t rows,
                      const uint32_t* groups, FloatSums sums, uint8_t* nulls) {
    const auto* source = reinterpret_cast<const double*>(from.source.values);
    const auto* source_lost = reinterpret_cast<const double*>(lost.source.values);
    for_each_lane(rows, [&](uint32_t lane) {
        const uint32_t row = from.row(block.first + lane), group = groups[lane];
        if (from.source.is_null(row)) return;
        add_float(source[row], &sums.sum[group], &sums.lost[group]);
        sums.lost[group] += source_lost[row];
        nulls[group] = 0;
    });
}

}  // namespace

void GroupValues::merge(const RowBlock& block, uint64_t rows, const uint32_t* groups) {
    for (const Aggregate& aggregate : aggregates_) {
        const uint32_t column = aggregate.column;
        const bool is_float = aggregate.is_float;
        auto to = [&]<typename Value>(Value* values, const auto& add) {
            merge_column(block.columns[column], block, rows, groups, values, store_.null_flags(column), add);
        };
        switch (aggregate.spec.function) {
            case AggregateFunction::Count:
                to(store_.values<int64_t>(column), std::plus<>());
                break;
            case AggregateFunction::Sum:
                if (is_float)
                    merge_float_sums(block.columns[column], block.columns[aggregate.lost], block, rows,
                                     groups, sums_of(aggregate), store_.null_flags(column));
                else
                    to(store_.values<Sum>(column), std::plus<>());
                break;
            case AggregateFunction::Minimum:
                to(store_.values<int64_t>(column),
                   [=](int64_t a, int64_t b) { return is_less(b, a, is_float) ? b : a; });
                break;
            case AggregateFunction::Maximum:
                to(store_.values<int64_t>(column),
                   [=](int64_t a, int64_t b) { return is_less(a, b, is_float) ? b : a; });
                break;
            case AggregateFunction::Any:
                break;
        }
    }
}

void GroupValues::close() {
    for (const Aggregate& aggregate : aggregates_) {
        if (nothing_of(aggregate.spec.function, aggregate.is_float) == 0) continue;
        if (aggregate.lost) round_sums(sums_of(aggregate), store_.rows());
        auto* words = store_.values<int64_t>(aggregate.column);
        const uint8_t* nulls = store_.null_flags(aggregate.column);
        for (uint32_t i = 0; i < store_.rows(); i++)
            if (nulls[i]) words[i] = 0;
    }
}

void GroupValues::clear() {
    std::fill(sizes_.begin(), sizes_.end(), 0.0);
}

}  // namespace gpujoin
