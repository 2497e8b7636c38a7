// KeptBuild: several lanes append the rows of a scan to a build side, each row once and with a number of its
// own, also where there is memory for one lane only, or none, and where the join leaves its device meanwhile.
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
    bool has_moved = false;
    bool is_read_again = false;  // rows that had their numbers when the join moved
};

// Appends in lanes at once, and goes on with the CPU engine where there is no room on the device.
class Builder {
  public:
    Builder(const Kept& kept, Engine& engine, uint64_t threads, Ledger* host, Ledger* device)
        : kept_(kept), columns_(kept.source(kept.columns.size())), scan_(kept.scan()) {
        EXPECT_OK(engine.open(spec_of(kept), {&memory_, device, nullptr}, &join_));
        build_.emplace(scan_, columns_, engine, Limits{host, device, nullptr}, threads);
    }

    // The rows as the join has them, by their numbers.
    Built run() {
        built_.status = append_all();
        if (built_.status.fault == Fault::DeviceMemory) {
            move();
            built_.status = append_all();
        }
        if (!built_.status.ok()) return built_;
        EXPECT_TRUE(build_->is_done());
        EXPECT_FALSE(build_->has_numbered());
        built_.rows_appended = build_->rows_appended();
        read_back();
        return built_;
    }

  private:
    // The first failure.
    Status append_all() {
        std::vector<Status> statuses(build_->lanes().size());
        std::vector<std::thread> running;
        for (size_t i = 0; i < statuses.size(); i++)
            running.emplace_back([this, &status = statuses[i], &lane = build_->lanes()[i]] {
                while (status.ok() && !lane.is_done) status = KeptBuild::execute(lane, *join_, next_row_);
            });
        for (std::thread& thread : running) thread.join();
        const auto failed = std::ranges::find_if(statuses, [](const Status& status) { return !status.ok(); });
        return failed == statuses.end() ? Status{} : *failed;
    }

    void move() {
        built_.has_moved = true;
        for (const KeptBuild::Lane& lane : build_->lanes())
            built_.is_read_again |= lane.numbered > 0 && lane.batch.memory == Memory::Device;
        build_->leave_device();
        std::unique_ptr<Join> fresh;
        EXPECT_OK(cpu_->open(spec_of(kept_), {&memory_, nullptr, nullptr}, &fresh));
        EXPECT_OK(join_->export_build(
            [&](const BatchView& batch, uint64_t first_row) { return fresh->append(batch, first_row); }));
        join_ = std::move(fresh);
    }

    void read_back() {
        built_.rows.resize(next_row_);
        std::vector<int> seen(next_row_);
        EXPECT_OK(join_->export_build([&](const BatchView& batch, uint64_t first_row) -> Status {
            const std::vector<KeptRow> rows = rows_of(batch, columns_);
            for (size_t i = 0; i < rows.size(); i++) {
                built_.rows[first_row + i] = rows[i];
                seen[first_row + i]++;
            }
            return {};
        }));
        EXPECT_EQ(std::ranges::count(seen, 1), static_cast<int64_t>(seen.size()));
    }

    const Kept& kept_;
    const std::vector<ColumnSpec> columns_;
    const KeptScan scan_;
    Ledger memory_{uint64_t{1} << 30};
    std::unique_ptr<Engine> cpu_ = make_cpu_engine(2);
    std::unique_ptr<Join> join_;
    std::atomic<uint64_t> next_row_{0};
    std::optional<KeptBuild> build_;
    Built built_;
};

void expect_all(const Kept& kept, Built built) {
    ASSERT_TRUE(built.status.ok()) << built.status.message;
    std::vector<KeptRow> expected = kept.expected(kept.columns.size());
    EXPECT_EQ(built.rows_appended, expected.size());
    std::ranges::sort(built.rows);
    std::ranges::sort(expected);
    EXPECT_EQ(built.rows, expected);
}

class KeptBuildTest : public EngineTest {
  protected:
    Built build(const Kept& kept, uint64_t threads, Ledger* host, Ledger* device) {
        return Builder(kept, *engine_, threads, host, device).run();
    }
    Ledger kept_memory_{uint64_t{1} << 30};
};

const std::vector<ChunkColumn> kNumberAndText = {kept_column(ColumnType::Fixed8),
                                                 kept_column(ColumnType::Bytes, ValueOrder::Bytes)};

TEST_P(KeptBuildTest, LanesAppendEachRowOnce) {
    Kept kept(kNumberAndText, 4000, 225, &kept_memory_, 1);
    ASSERT_GT(kept.rows.size(), 3u * kTargetBatchRows);
    for (uint64_t threads : {1u, 4u}) expect_all(kept, build(kept, threads, &host_memory_, &device_memory_));
    add_condition(kept.conditions, interval_condition(-1000, 70000, 0, KeptTest::Outside));
    expect_all(kept, build(kept, 4, &host_memory_, &device_memory_));
    for (ChunkMap& map : kept.maps) map = {};
    expect_all(kept, build(kept, 4, &host_memory_, &device_memory_));
}

TEST_P(KeptBuildTest, AllTypes) {
    Kept kept(all_columns(), 300, 50, &kept_memory_, 2);
    expect_all(kept, build(kept, 4, &host_memory_, &device_memory_));
}

TEST_P(KeptBuildTest, RowsAreReadAgainWhereTheJoinLeavesItsDevice) {
    Kept kept(kNumberAndText, 3000, 225, &kept_memory_, 3);
    add_condition(kept.conditions, interval_condition(-1000, 70000, 0, KeptTest::Outside));
    int moved = 0, read_again = 0, stayed = 0;
    // The CPU engine has no device that it could leave.
    const uint64_t least = GetParam() == "cuda" ? 256u << 10 : 128u << 20;
    for (uint64_t room = least; room <= 128u << 20; room *= 2) {
        Ledger device(room);
        Built built = build(kept, 4, &host_memory_, &device);
        EXPECT_EQ(device.used(), 0u);
        moved += built.has_moved;
        read_again += built.is_read_again;
        stayed += !built.has_moved;
        expect_all(kept, std::move(built));
    }
    EXPECT_GT(stayed, 0);
    EXPECT_EQ(moved > 0, GetParam() == "cuda");
    EXPECT_EQ(read_again > 0, GetParam() == "cuda");
}

GPUJOIN_FOR_EACH_ENGINE(KeptBuildTest);

TEST(KeptBuild, OneLaneIsEnough) {
    Ledger ledger(uint64_t{1} << 30);
    auto engine = make_cpu_engine(2);
    Kept kept({kept_column(ColumnType::Fixed8)}, kIsSanitized ? 500 : 1500, 225, &ledger, 2);
    int refused = 0, given = 0;
    for (uint64_t room = 256; room < 64u << 20; room *= kIsSanitized ? 4 : 2) {
        Ledger joins(room);
        Built built = Builder(kept, *engine, 4, &joins, nullptr).run();
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

}  // namespace
}  // namespace gpujoin::test
