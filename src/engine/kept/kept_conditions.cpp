// The first conditions are most often connected by AND alone: rows that fail one are left out at once. Of the
// others each is tested on all rows that are left, and moves on those that are at it.
#include "engine/kept/kept_conditions.h"

#include <algorithm>
#include <cstring>

#include "engine/kept/kept_numbers.h"

namespace gpujoin {

namespace {

constexpr uint64_t kFewEntries = 256;  // of a dictionary

// Tests are called with the numbers of rows.

// read: the integer that a row's value is compared as, less `less`.
template <typename Read>
auto interval_test(const Read& read, const KeptCondition& condition, int64_t less) {
    const uint64_t low = static_cast<uint64_t>(condition.interval.low) - static_cast<uint64_t>(less);
    const uint64_t span = condition.interval.span;
    const bool outside = condition.test == KeptTest::Outside;
    return [=](uint32_t row) { return (static_cast<uint64_t>(read(row)) - low <= span) != outside; };
}

template <typename Visit>
void with_interval_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    if (has_integers(values.column.spec))
        return with_stored(values, [&](auto stored) {
            auto read = [=](uint32_t row) { return in_order(stored(row)); };
            visit(interval_test(read, condition, values.base));
        });
    with_number(values.column.spec, [&](auto number) {
        const auto* value = values.values.as<decltype(number)>();
        visit(interval_test([=](uint32_t row) { return in_order(value[row]); }, condition, 0));
    });
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

bool is_entry(const KeptValues& values, uint64_t entry, const KeptCondition& condition) {
    return values.length_of(entry) == condition.length &&
           (condition.length == 0 ||
            memcmp(values.data.as<char>() + values.start_of(entry), condition.bytes, condition.length) == 0);
}

// Few entries are compared instead of rows, of which there are many more: one at most is the same.
template <typename Visit>
void with_code_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    uint64_t same = 0;
    while (same < values.entries() && !is_entry(values, same, condition)) same++;
    const bool other = condition.test == KeptTest::Other;
    with_entries(values,
                 [&](auto entries) { visit([=](uint32_t row) { return (entries(row) == same) != other; }); });
}

template <typename Visit>
void with_bytes_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    if (values.compression == KeptCompression::Dictionary && values.entries() <= kFewEntries)
        return with_code_test(values, condition, visit);
    const auto* starts = values.starts.as<uint32_t>();
    const auto* data = values.data.as<char>();
    const uint32_t length = condition.length;
    const bool other = condition.test == KeptTest::Other;
    with_entries(values, [&](auto entries) {
        with_same_bytes(reinterpret_cast<const char*>(condition.bytes), length, [&](auto same_bytes) {
            visit([=](uint32_t row) {
                const uint32_t entry = entries(row);
                const uint32_t start = starts[entry];
                return (starts[entry + 1] - start == length && same_bytes(data + start)) != other;
            });
        });
    });
}

template <typename Visit>
void with_value_test(const KeptValues& values, const KeptCondition& condition, const Visit& visit) {
    condition.is_of_bytes() ? with_bytes_test(values, condition, visit)
                            : with_interval_test(values, condition, visit);
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
