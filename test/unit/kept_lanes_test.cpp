// KeptLanes: several lanes probe with the rows of a scan, each row once, also where there is memory for one
// of them only.
#include <thread>

#include "engine_fragment_tables.h"
#include "kept_chunks.h"
#include "sanitized.h"
#include "server/kept_lanes.h"

namespace gpujoin::test {
namespace {

constexpr uint64_t kLanes = 4;
constexpr uint32_t kMostRows = 2048;

// Groups by the first column, with the number of rows.
TestFragment counts_of(const std::vector<ColumnSpec>& source) {
    Table table;
    for (const ColumnSpec& spec : source) table.columns.push_back(Column{spec, {}});
    TestFragment fragment(std::move(table));
    fragment.input(TestFragment::of_source(0)).key(0).aggregate(AggregateFunction::Count);
    return fragment;
}

// Executes all lanes at once, round after round.
Status run(KeptLanes& lanes, Fragment& fragment, std::span<const ColumnSpec> source) {
    while (!lanes.are_done()) {
        std::vector<std::thread> threads;
        std::vector<Status> statuses(lanes.all().size());
        for (size_t i = 0; i < statuses.size(); i++)
            if (KeptLane& lane = lanes.all()[i]; lane.is_ready())
                threads.emplace_back([&, i] { statuses[i] = lanes.execute(lane, fragment, source); });
        for (std::thread& thread : threads) thread.join();
        for (const Status& status : statuses) GPUJOIN_RETURN_IF_FAILED(status);
        GPUJOIN_RETURN_IF_FAILED(lanes.settle());
    }
    return {};
}

class KeptLanesTest : public ::testing::Test {
  protected:
    // With so many lanes, and so much memory.
    Status count(uint64_t lanes, uint64_t room, uint64_t* rows) {
        Ledger joins(room);
        const Limits limits{&joins, nullptr, nullptr};
        const std::vector<ColumnSpec> source = kept_.source(kept_.columns.size());
        const TestFragment fragment = counts_of(source);
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, {&memory_, nullptr, nullptr}, &opened);
        const KeptScan scan = kept_.scan();
        std::unique_ptr<KeptLanes> made;
        Status status = KeptLanes::make({lanes, kMostRows}, scan, *engine_, limits, false, &made);
        if (status.ok()) status = run(*made, *opened, source);
        made.reset();
        EXPECT_EQ(joins.used(), 0u);
        *rows = opened->sink_stats().rows;
        return status;
    }

    std::unique_ptr<Engine> engine_ = make_cpu_engine(2);
    Ledger memory_{uint64_t{1} << 30};
    Kept kept_{{kept_column(ColumnType::Fixed8), kept_column(ColumnType::Bytes, ValueOrder::Bytes)},
               kIsSanitized ? 200u : 600u,
               225,
               &memory_,
               1};
};

TEST_F(KeptLanesTest, EachRowOnce) {
    for (uint64_t lanes : {uint64_t{1}, kLanes}) {
        uint64_t rows = 0;
        ASSERT_OK(count(lanes, uint64_t{1} << 30, &rows));
        EXPECT_EQ(rows, kept_.rows.size());
    }
}

// Who has no room leaves its rows to those that have taken it, whichever they are.
TEST_F(KeptLanesTest, WhatOneLaneHasRoomForSeveralDo) {
    int given = 0, refused = 0;
    for (uint64_t room = 64u << 10; room < 4u << 20; room += 16u << 10) {
        uint64_t rows = 0;
        if (!count(1, room, &rows).ok()) {
            refused++;
            continue;
        }
        given++;
        const Status status = count(kLanes, room, &rows);
        ASSERT_TRUE(status.ok()) << room << " bytes: " << status.message;
        EXPECT_EQ(rows, kept_.rows.size()) << room << " bytes";
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(given, 100);
}

}  // namespace
}  // namespace gpujoin::test
