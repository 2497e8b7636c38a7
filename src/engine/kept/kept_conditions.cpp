// The first conditions are most often connected by AND alone: rows that fail one are left out at once. Of the
// others each is tested on all rows that are left, and moves on those that are at it.
#include "engine/kept/kept_conditions.h"

#include <algorithm>
#include <cstring>

#include "engine/kept/kept_numbers.h"

namespace gpujoin {

namespace {

// Tests are called with the numbers of rows.

template <typename Number>
auto interval_test(const KeptValues& values, const KeptCondition& condition) {
    const auto* value = values.values.as<Number>();
    const KeptInterval interval = condition.interval;
    const bool outside = condition.test == KeptTest::Outside;
    return [=](uint32_t row) {
        const uint64_t distance =
            static_cast<uint64_t>(in_order(value[row])) - static_cast<uint64_t>(interval.low);
        return (distance <= interval.span) != outside;
    };
}

// Whether bytes are those of a text: two words cover texts of one to two words' length.
template <typename Word>
auto same_in_two_words(const char* bytes, uint32_t length) {
    const uint32_t last = length - sizeof(Word);
    auto word = [](const char* from) {
        Word value;
        memcpy(&value, from, sizeof value);
        return value;
    };
    return [=, head = word(bytes), tail = word(bytes + last)](const char* data) {
        return ((word(data) ^ head) | (word(data + last) ^ tail)) == 0;
    };
}

// Without a call for each row, or a branch.
template <typename Visit>
void with_same_bytes(const char* bytes, uint32_t length, const Visit& visit) {
    if (length == 0) return visit([](const char*) { return true; });
    if (length == 1) return visit(same_in_two_words<uint8_t>(bytes, length));
    if (length < 4) return visit(same_in_two_words<uint16_t>(bytes, length));
    if (length < 8) return visit(same_in_two_words<uint32_t>(bytes, length));
    static_assert(kMaxKeptBytes <= 2 * sizeof(uint64_t));
    visit(same_in_two_words<uint64_t>(bytes, length));
}

template <typename Visit>
void with_bytes_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    const auto* ends = values.values.as<uint32_t>();
    const auto* data = values.data.as<char>();
    const uint32_t length = condition.length;
    const bool other = condition.test == KeptTest::Other;
    with_same_bytes(reinterpret_cast<const char*>(condition.bytes), length, [&](auto same_bytes) {
        visit([=](uint32_t row) {
            const uint32_t start = row > 0 ? ends[row - 1] : 0;
            return (ends[row] - start == length && same_bytes(data + start)) != other;
        });
    });
}

template <typename Visit>
void with_value_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    if (condition.is_of_bytes()) return with_bytes_test(values, condition, visit);
    with_number(values.column.spec,
                [&](auto number) { visit(interval_test<decltype(number)>(values, condition)); });
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

// Without a branch, which nobody could predict: what a row elsewhere would do costs less.
void move_on(const KeptValues& values, const KeptCondition& condition, size_t number, const uint32_t* rows,
             uint32_t count, uint8_t* places) {
    const auto here = static_cast<uint8_t>(number);
    const uint8_t if_failed = condition.if_failed;
    const uint8_t other = if_failed ^ condition.if_passed;
    with_test(values, condition, [=](auto test) {
        for (uint32_t i = 0; i < count; i++) {
            const auto passes = static_cast<uint8_t>(-static_cast<int>(test(rows[i])));
            const auto is_here = static_cast<uint8_t>(-static_cast<int>(places[i] == here));
            const uint8_t next = if_failed ^ (other & passes);
            places[i] ^= (places[i] ^ next) & is_here;
        }
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
    return condition.is_of_bytes() ? spec.type == ColumnType::Bytes : has_numbers(spec);
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
