// The first conditions are most often connected by AND alone: rows that fail one are left out at once. Of the
// others each is tested on all rows that are left, and moves on those that are at it.
#include "engine/kept/kept_conditions.h"

#include <algorithm>
#include <cstring>

namespace gpujoin {

namespace {

bool has_integers(const ColumnSpec& spec) {
    return spec.type <= ColumnType::Fixed8 &&
           (spec.order == ValueOrder::Signed || spec.order == ValueOrder::Unsigned);
}

// Tests are called with the numbers of rows.

template <typename Integer>
auto interval_test(const KeptValues& values, const KeptCondition& condition) {
    const auto* value = values.values.as<Integer>();
    const KeptInterval interval = condition.interval;
    const bool outside = condition.test == KeptTest::Outside;
    return [=](uint32_t row) {
        const uint64_t distance =
            static_cast<uint64_t>(static_cast<int64_t>(value[row])) - static_cast<uint64_t>(interval.low);
        return (distance <= interval.span) != outside;
    };
}

auto bytes_test(const KeptValues& values, const KeptCondition& condition) {
    const auto* ends = values.values.as<uint32_t>();
    const auto* data = values.data.as<char>();
    const bool other = condition.test == KeptTest::Other;
    return [=, &condition](uint32_t row) {
        const uint32_t start = row > 0 ? ends[row - 1] : 0;
        const bool same =
            ends[row] - start == condition.length &&
            (condition.length == 0 || memcmp(data + start, condition.bytes, condition.length) == 0);
        return same != other;
    };
}

template <typename Visit>
void with_value_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    if (condition.is_of_bytes()) return visit(bytes_test(values, condition));
    with_integer(values.column.spec,
                 [&](auto integer) { visit(interval_test<decltype(integer)>(values, condition)); });
}

template <typename Visit>
void with_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    const uint8_t* validity = values.validity_bits();
    const bool null_passes = condition.null_passes != 0;
    with_value_test(values, condition, [&](auto test) {
        if (!validity) return visit(test);
        visit([=](uint32_t row) { return (validity[row >> 3] >> (row & 7) & 1) ? test(row) : null_passes; });
    });
}

bool leads_on_only_if_passed(std::span<const KeptCondition> conditions, size_t number) {
    const KeptCondition& condition = conditions[number];
    const size_t next = number + 1 < conditions.size() ? number + 1 : kRowIsWanted;
    return condition.if_failed == kRowIsUnwanted && condition.if_passed == next;
}

uint32_t leave_out(const KeptValues& values, const KeptCondition& condition, uint32_t* rows, uint32_t count) {
    uint32_t left = 0;
    with_test(values, condition, [&](auto test) {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t row = rows[i];
            rows[left] = row;
            left += test(row);
        }
    });
    return left;
}

void move_on(const KeptValues& values, const KeptCondition& condition, size_t number, const uint32_t* rows,
             uint32_t count, uint8_t* places) {
    const auto here = static_cast<uint8_t>(number);
    with_test(values, condition, [&](auto test) {
        for (uint32_t i = 0; i < count; i++)
            if (places[i] == here) places[i] = test(rows[i]) ? condition.if_passed : condition.if_failed;
    });
}

}  // namespace

bool are_sound(std::span<const KeptCondition> conditions) {
    for (size_t i = 0; i < conditions.size(); i++)
        for (const uint8_t next : {conditions[i].if_passed, conditions[i].if_failed})
            if (next < kRowIsWanted && (next <= i || next >= conditions.size())) return false;
    return true;
}

bool can_test(const KeptCondition& condition, const ColumnSpec& spec) {
    if (condition.test > KeptTest::Other || condition.length > kMaxKeptBytes) return false;
    return condition.is_of_bytes() ? spec.type == ColumnType::Bytes : has_integers(spec);
}

uint32_t select_passing(std::span<const KeptValues* const> columns, std::span<const KeptCondition> conditions,
                        uint32_t* rows, uint32_t count, uint8_t* places) {
    auto values_of = [&](size_t number) -> const KeptValues& { return *columns[conditions[number].column]; };
    size_t number = 0;
    for (; number < conditions.size() && leads_on_only_if_passed(conditions, number); number++)
        count = leave_out(values_of(number), conditions[number], rows, count);
    if (number == conditions.size()) return count;
    std::fill_n(places, count, static_cast<uint8_t>(number));
    for (; number < conditions.size(); number++)
        move_on(values_of(number), conditions[number], number, rows, count, places);
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = rows[i];
        rows[left] = row;
        left += places[i] == kRowIsWanted;
    }
    return left;
}

}  // namespace gpujoin
