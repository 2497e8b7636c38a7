// Bounds of kept values: what they say of a stretch is true of each of its rows, whatever the conditions;
// they skip what they can; and a scan without the stretches that are skipped gives the same rows.
#include "engine/kept/value_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/kept/kept_conditions.h"
#include "kept_chunks.h"
#include "sanitized.h"

namespace gpujoin::test {

namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

bool may_pass_one(KeptCondition condition, const ValueBounds& bounds) {
    const ValueBounds* of_stretch = &bounds;
    return may_pass({&condition, 1}, {&of_stretch, 1});
}

template <typename Number>
ValueBounds bounds_of(const std::vector<Number>& values, ValueOrder order,
                      const uint8_t* validity = nullptr) {
    ColumnView view{};
    view.values = reinterpret_cast<const std::byte*>(values.data());
    view.validity = validity;
    const ColumnType type = sizeof(Number) == 8   ? ColumnType::Fixed8
                            : sizeof(Number) == 4 ? ColumnType::Fixed4
                            : sizeof(Number) == 2 ? ColumnType::Fixed2
                                                  : ColumnType::Fixed1;
    ValueBounds bounds;
    extend_bounds({type, order, 1, 0}, view, values.size(), 0, &bounds);
    return bounds;
}

uint64_t rows_skipped(const Kept& kept) {
    KeptScan scan = kept.scan();
    return scan.skip_stretches();
}

void expect_same_rows(const Kept& kept, Ledger* ledger) {
    const std::vector<ColumnSpec> source = kept.source(kept.columns.size());
    KeptScan scan = kept.scan();
    ASSERT_TRUE(validate_kept_scan(scan, source).ok());
    scan.skip_stretches();
    Status status;
    const std::vector<KeptRow> rows = scan_rows(scan, source, ledger, &status);
    ASSERT_TRUE(status.ok()) << status.message;
    ASSERT_EQ(rows, kept.expected(source.size()));
}

}  // namespace

TEST(ValueBounds, AreThoseOfTheValues) {
    const ValueBounds small = bounds_of(std::vector<int8_t>{3, -128, 127, 0}, ValueOrder::Signed);
    EXPECT_EQ(small.least, -128);
    EXPECT_EQ(small.greatest, 127);
    const ValueBounds unsigned_ones = bounds_of(std::vector<uint16_t>{3, 65535}, ValueOrder::Unsigned);
    EXPECT_EQ(unsigned_ones.least, 3);
    EXPECT_EQ(unsigned_ones.greatest, 65535);
    const ValueBounds wide = bounds_of(std::vector<int64_t>{kHighest, kLowest}, ValueOrder::Signed);
    EXPECT_EQ(wide.least, kLowest);
    EXPECT_EQ(wide.greatest, kHighest);
    const double infinite = std::numeric_limits<double>::infinity();
    const ValueBounds floats = bounds_of(std::vector<double>{1.5, -infinite}, ValueOrder::Float);
    EXPECT_EQ(floats.least, integer_of_float(-infinite));
    EXPECT_EQ(floats.greatest, integer_of_float(1.5));
    const ValueBounds with_nan = bounds_of(std::vector<float>{NAN, -0.0f}, ValueOrder::Float);
    EXPECT_EQ(with_nan.least, 0);
    EXPECT_EQ(with_nan.greatest, kHighest);
}

TEST(ValueBounds, LeaveNullsAside) {
    const uint8_t second_and_third = 0b110;
    const ValueBounds some =
        bounds_of(std::vector<int32_t>{0, 70, 50, 0}, ValueOrder::Signed, &second_and_third);
    EXPECT_EQ(some.least, 50);
    EXPECT_EQ(some.greatest, 70);
    EXPECT_TRUE(some.has_nulls);
    const uint8_t nothing = 0;
    const ValueBounds none = bounds_of(std::vector<int32_t>{0, 0}, ValueOrder::Signed, &nothing);
    EXPECT_FALSE(none.has_values());
    KeptCondition condition = interval_condition(0, 100, 0);
    EXPECT_FALSE(may_pass_one(condition, none));
    condition.null_passes = 1;
    EXPECT_TRUE(may_pass_one(condition, none));
    EXPECT_TRUE(may_pass_one(condition, some));
}

// Of each interval about the bounds.
TEST(ValueBounds, TellWhichIntervalsHaveNoneOfTheValues) {
    const ValueBounds bounds{-3, 5, 0};
    for (int64_t low = -8; low <= 8; low++)
        for (uint64_t span = 0; span < 16; span++) {
            const int64_t high = low + static_cast<int64_t>(span);
            EXPECT_EQ(may_pass_one(interval_condition(low, span, 0), bounds), low <= 5 && high >= -3);
            EXPECT_EQ(may_pass_one(interval_condition(low, span, 0, KeptTest::Outside), bounds),
                      low > -3 || high < 5);
        }
    const ValueBounds all{kLowest, kHighest, 0};
    EXPECT_FALSE(may_pass_one(interval_condition(kLowest, UINT64_MAX, 0, KeptTest::Outside), all));
    EXPECT_TRUE(may_pass_one(interval_condition(kLowest, UINT64_MAX, 0), all));
    // It goes on from the greatest integer at the least one.
    const ValueBounds low_ones{kLowest, kLowest + 9, 0};
    EXPECT_TRUE(may_pass_one(interval_condition(kHighest - 5, 20, 0), low_ones));
}

TEST(ValueBounds, FollowConditionsToTheEnd) {
    const ValueBounds first{0, 9, 0}, second{100, 109, 0};
    const ValueBounds* bounds[] = {&first, &second, nullptr};
    std::vector<KeptCondition> conditions{interval_condition(20, 5, 0), interval_condition(100, 9, 1)};
    conditions[0].if_failed = 1;  // one or the other
    EXPECT_TRUE(may_pass(conditions, {bounds, 2}));
    conditions[1].interval.low = 110;
    EXPECT_FALSE(may_pass(conditions, {bounds, 2}));
    conditions.push_back(interval_condition(0, 0, 2));  // of a column without bounds
    conditions[1].if_failed = 2;
    EXPECT_TRUE(may_pass(conditions, bounds));
    conditions[0].if_failed = kRowIsUnwanted;
    EXPECT_FALSE(may_pass(conditions, bounds));
    EXPECT_TRUE(may_pass({}, {}));
}

TEST(ValueBounds, SkipStretchesOfAScan) {
    Ledger ledger(1u << 28);
    Kept kept(bounded_columns(), 2600, 200, &ledger, 11, 12, Kept::Order::Ascending);
    const uint64_t rows = kept.rows.size();
    ASSERT_GT(rows, 28 * kStretchRows);
    for (const uint32_t column : {0u, 1u}) {
        kept.conditions = {interval_condition(static_cast<int64_t>(rows / 2), 1000, column)};
        EXPECT_GE(rows_skipped(kept), rows - 3 * kStretchRows) << column;
        expect_same_rows(kept, &ledger);
        kept.conditions[0].test = KeptTest::Outside;
        EXPECT_EQ(rows_skipped(kept), 0u) << column;
    }
    // Rows at both ends of a chunk, with many in between.
    kept.conditions = {interval_condition(static_cast<int64_t>(rows / 3), rows / 3, 0, KeptTest::Outside)};
    EXPECT_GE(rows_skipped(kept), rows / 3 - 3 * kStretchRows);
    expect_same_rows(kept, &ledger);
    kept.conditions = {interval_condition(-10, 9, 0)};
    EXPECT_EQ(rows_skipped(kept), rows);
    expect_same_rows(kept, &ledger);
}

TEST(ValueBounds, SkipNoRowThatPasses) {
    Ledger ledger(1u << 28);
    Kept kept(bounded_columns(), 2600, 200, &ledger, 12, 12, Kept::Order::Ascending);
    std::mt19937_64 random(13);
    uint64_t skipped = 0;
    constexpr int kRounds = kIsForThreads ? 6 : 60;
    for (int round = 0; round < kRounds; round++) {
        kept.choose_conditions(random);
        if (round == kRounds / 2) leave_blocks_out(kept);
        skipped += rows_skipped(kept);
        expect_same_rows(kept, &ledger);
    }
    EXPECT_GT(skipped, kept.rows.size());
}

}  // namespace gpujoin::test
