// The choice of the range terms that drive a search, on samples as the CPU engine reads them.
#include "engine/range_choice.h"

#include <gtest/gtest.h>

#include "engine/cpu/index/range_plan.h"
#include "engine_harness.h"
#include "engine_tables.h"

namespace gpujoin::test {
namespace {

using namespace gpujoin::cpu;

struct Bands {
    Bands(const std::vector<int32_t>& widths, uint64_t build_rows, double null_share = 0)
        : tables(make_band_tables(widths, 500, build_rows, null_share)) {
        context.spec = make_spec(JoinKind::Inner, Algorithm::Index, tables.probe, tables.build);
        for (uint16_t i = 0; i < widths.size(); i++) add_band(context.spec, i);
        context.limits = {&memory, nullptr, &cancel};
    }

    void choose(uint16_t* column) {
        ASSERT_OK(context.build.open(context.spec, context.limits));
        if (uint64_t rows = tables.build.columns[0].values.size())
            ASSERT_OK(context.build.append(OwnedBatch(tables.build, 0, rows).view(), 0));
        ASSERT_OK(choose_range_column(context, OwnedBatch(tables.probe, 0, 500).view(), column));
    }

    Ledger memory{uint64_t{1} << 30};
    std::atomic<bool> cancel{false};
    TablePair tables;
    JoinContext context;
};

uint16_t chosen(Bands&& bands) {
    uint16_t column = 99;
    bands.choose(&column);
    return column;
}

TEST(RangeChoice, TheNarrowBandDrives) {
    EXPECT_EQ(chosen(Bands({5000, 3}, 20000)), 1);
    EXPECT_EQ(chosen(Bands({3, 5000}, 20000)), 0);
    EXPECT_EQ(chosen(Bands({5000, 900, 3}, 20000)), 2);
    EXPECT_EQ(chosen(Bands({5000, 3}, 20000, 0.5)), 1);
}

TEST(RangeChoice, TheLikelyOneStaysWhereItIsNoWorse) {
    EXPECT_EQ(chosen(Bands({300, 200}, 20000)), 0);
    EXPECT_EQ(chosen(Bands({5000, 3}, 0)), 0);
}

// Sides of which nothing is kept but one number a column: what is chosen depends on what is read alone, and
// a side that cannot be read fails the choice.
TEST(RangeChoice, ReadsSamplesAndPassesFailuresOn) {
    JoinSpec spec = Bands({5000, 3}, 100).context.spec;
    uint64_t most = 0;
    auto read = [&](uint16_t column, uint64_t step, std::vector<SampledKey>* keys) {
        most = std::max<uint64_t>(most, keys->size());
        // Probe columns 0 and 1 enclose all of build column 0; 2 and 3 a part of build column 1.
        const uint64_t value[] = {0, 1000, 400, 500};
        for (size_t i = 0; i < keys->size(); i++) (*keys)[i] = {step > 1 ? i % 1000 : value[column], true};
        return Status{};
    };
    uint16_t column = 99;
    ASSERT_OK(choose_range_column(spec, {1u << 20, read}, {1u << 30, read}, &column));
    EXPECT_EQ(column, 1);
    EXPECT_LE(most, 4096u);
    auto fail = [](uint16_t, uint64_t, std::vector<SampledKey>*) {
        return failure(Fault::DeviceMemory, "53200", "no room");
    };
    EXPECT_EQ(choose_range_column(spec, {1, read}, {1u << 20, fail}, &column).fault, Fault::DeviceMemory);
    EXPECT_EQ(choose_range_column(spec, {1, fail}, {1u << 20, read}, &column).fault, Fault::DeviceMemory);
}

// An interval of keys is what each comparison leaves, also at the ends of the order.
TEST(RangeChoice, IntervalsAreWhatComparisonsLeave) {
    const uint64_t keys[] = {0, 1, 5, KeyInterval::kHighest - 1, KeyInterval::kHighest};
    for (uint64_t key : keys) {
        for (Comparison comparison :
             {Comparison::Less, Comparison::LessEqual, Comparison::Greater, Comparison::GreaterEqual}) {
            KeyInterval interval;
            interval.narrow(key, comparison);
            for (uint64_t build : keys)
                EXPECT_EQ(!interval.empty() && interval.low <= build && build <= interval.high,
                          satisfies(comparison, key < build ? -1 : key > build))
                    << key << " and " << build;
            interval.narrow(2, Comparison::Less);
            interval.narrow(2, Comparison::Greater);
            EXPECT_TRUE(interval.empty());
        }
    }
}

TEST(RangeChoice, OneColumnIsNoChoice) {
    EXPECT_FALSE(has_range_choice(Bands({10}, 100).context.spec));
    EXPECT_TRUE(has_range_choice(Bands({10, 10}, 100).context.spec));
}

}  // namespace
}  // namespace gpujoin::test
