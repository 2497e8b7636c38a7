// KeptBuild: several lanes append the rows of a scan to a build side, each row once and with a number of its
// own, also where there is memory for one lane only, or none.
#include <thread>

#include "engine_harness.h"
#include "kept_chunks.h"
#include "sanitized.h"
#include "server/kept_build.h"

namespace gpujoin::test {

namespace {

JoinSpec spec_of(const Kept& kept) {
    JoinSpec spec;
    spec.kind = JoinKind::Inner;
    spec.build_columns = static_cast<uint16_t>(kept.columns.size());
    for (size_t i = 0; i < kept.columns.size(); i++) spec.build[i] = kept.columns[i].spec;
    spec.probe_columns = 1;
    spec.probe[0] = kept.columns[0].spec;
    spec.equalities = 1;
    spec.equality[0] = {0, 0, Comparison::Equal, {}};
    return spec;
}

struct Built {
    Status status;
    std::vector<KeptRow> rows;
    uint64_t rows_appended = 0;
};

// Appends in `threads` lanes at once; the rows as the join has them, by their numbers.
Built build(const Kept& kept, uint64_t threads, Ledger* ledger) {
    Built built;
    auto engine = make_cpu_engine(2);
    Ledger memory(uint64_t{1} << 30);
    const JoinSpec spec = spec_of(kept);
    std::unique_ptr<Join> join;
    EXPECT_OK(engine->open(spec, {&memory, nullptr, nullptr}, &join));
    const KeptScan scan = kept.scan();
    const std::vector<ColumnSpec> columns = kept.source(kept.columns.size());
    std::atomic<uint64_t> next_row{0};
    KeptBuild kept_build(scan, columns, threads, ledger);
    std::vector<Status> statuses(kept_build.lanes().size());
    std::vector<std::thread> running;
    for (size_t i = 0; i < statuses.size(); i++)
        running.emplace_back([&, i] {
            KeptBuild::Lane& lane = kept_build.lanes()[i];
            while (statuses[i].ok() && !lane.is_done) statuses[i] = KeptBuild::execute(lane, *join, next_row);
        });
    for (std::thread& thread : running) thread.join();
    for (const Status& status : statuses)
        if (!status.ok()) built.status = status;
    if (!built.status.ok()) return built;
    EXPECT_TRUE(kept_build.is_done());
    EXPECT_FALSE(kept_build.has_numbered());
    built.rows_appended = kept_build.rows_appended();
    built.rows.resize(next_row);
    std::vector<int> seen(next_row);
    EXPECT_OK(join->export_build([&](const BatchView& batch, uint64_t first_row) -> Status {
        const std::vector<KeptRow> rows = rows_of(batch, columns);
        for (size_t i = 0; i < rows.size(); i++) {
            built.rows[first_row + i] = rows[i];
            seen[first_row + i]++;
        }
        return {};
    }));
    EXPECT_EQ(std::ranges::count(seen, 1), static_cast<int64_t>(seen.size()));
    return built;
}

void expect_all(const Kept& kept, Built built) {
    ASSERT_TRUE(built.status.ok()) << built.status.message;
    std::vector<KeptRow> expected = kept.expected(kept.columns.size());
    EXPECT_EQ(built.rows_appended, expected.size());
    std::ranges::sort(built.rows);
    std::ranges::sort(expected);
    EXPECT_EQ(built.rows, expected);
}

}  // namespace

TEST(KeptBuild, LanesAppendEachRowOnce) {
    Ledger ledger(uint64_t{1} << 30);
    Kept kept({kept_column(ColumnType::Fixed8), kept_column(ColumnType::Bytes, ValueOrder::Bytes)}, 4000, 225,
              &ledger, 1);
    ASSERT_GT(kept.rows.size(), 3u * kTargetBatchRows);
    for (uint64_t threads : {1u, 4u}) expect_all(kept, build(kept, threads, &ledger));
    add_condition(kept.conditions, interval_condition(-1000, 70000, 0, KeptTest::Outside));
    expect_all(kept, build(kept, 4, &ledger));
    for (ChunkMap& map : kept.maps) map = {};
    expect_all(kept, build(kept, 4, &ledger));
}

TEST(KeptBuild, OneLaneIsEnough) {
    Ledger ledger(uint64_t{1} << 30);
    Kept kept({kept_column(ColumnType::Fixed8)}, 1500, 225, &ledger, 2);
    int refused = 0, given = 0;
    for (uint64_t room = 256; room < 64u << 20; room *= kIsSanitized ? 4 : 2) {
        Ledger joins(room);
        Built built = build(kept, 4, &joins);
        EXPECT_EQ(joins.used(), 0u);
        (built.status.ok() ? given : refused)++;
        if (built.status.ok())
            expect_all(kept, std::move(built));
        else
            EXPECT_STREQ(built.status.sqlstate, "53200");
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(given, kIsSanitized ? 2 : 5);
}

}  // namespace gpujoin::test
