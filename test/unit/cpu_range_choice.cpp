// The CPU engine's choice of the range terms that drive a search.
#include "engine/cpu/range_choice.h"

#include <gtest/gtest.h>

#include "engine_harness.h"
#include "engine_tables.h"

namespace gpujoin::test {
namespace {

using namespace gpujoin::cpu;

// A band on each of some columns: probe[2 i] <= build[i] <= probe[2 i + 1], with build values in [0, 10000).
struct Bands {
    Bands(const std::vector<int32_t>& widths, uint64_t build_rows, double null_share = 0) {
        const ColumnPlan plan{fixed_column(ColumnType::Fixed4), 10000, false, null_share};
        Random random(1);
        for (int32_t width : widths) {
            Column low = make_column(plan, 500, random);
            Column high{low.spec, {}};
            for (const Value& value : low.values) {
                int32_t number = 0;
                if (value) std::memcpy(&number, value->data(), sizeof number);
                high.values.push_back(value ? Value(value_of(number + width)) : std::nullopt);
            }
            tables.probe.columns.push_back(low);
            tables.probe.columns.push_back(high);
            tables.build.columns.push_back(make_column(plan, build_rows, random));
        }
        context.spec = make_spec(JoinKind::Inner, Algorithm::Index, tables.probe, tables.build);
        for (uint16_t i = 0; i < widths.size(); i++) {
            add_range(context.spec, 2 * i, Comparison::LessEqual, i);
            add_range(context.spec, 2 * i + 1, Comparison::GreaterEqual, i);
        }
        context.limits = {&memory, nullptr, &cancel};
    }

    void choose(uint16_t* column) {
        ASSERT_OK(context.build.open(context.spec, context.limits));
        if (uint64_t rows = tables.build.columns[0].values.size())
            ASSERT_OK(context.build.append(OwnedBatch(tables.build, 0, rows).view()));
        *column = choose_range_column(context, OwnedBatch(tables.probe, 0, 500).view());
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

TEST(RangeChoice, OneColumnIsNoChoice) {
    EXPECT_FALSE(has_range_choice(Bands({10}, 100).context.spec));
    EXPECT_TRUE(has_range_choice(Bands({10, 10}, 100).context.spec));
}

}  // namespace
}  // namespace gpujoin::test
