// Many joins at once on one engine: threads that open, build, probe, cancel and destroy joins of every kind
// in loops. What engines share (threads, streams, pools, working memory kept for later cursors) must not mix
// them up, nor be left behind.
#include <barrier>
#include <chrono>
#include <thread>

#include "engine_harness.h"
#include "engine_tables.h"

namespace gpujoin::test {
namespace {

class EngineStress : public EngineTest {};

// A join with what it must give.
struct StressCase {
    JoinSpec spec;
    const TablePair* tables;
    std::vector<ResultRow> expected;
};

std::vector<StressCase> make_cases(const std::vector<TablePair>& tables) {
    std::vector<StressCase> cases;
    for (const TablePair& pair : tables) {
        for (JoinKind kind : {JoinKind::Inner, JoinKind::Full, JoinKind::Anti, JoinKind::RightSemi}) {
            for (Algorithm algorithm : kAlgorithms) {
                JoinSpec spec = make_spec(kind, algorithm, pair.probe, pair.build);
                add_equality(spec, 0, 0);
                if (algorithm == Algorithm::Index) add_range(spec, 0, Comparison::LessEqual, 0);
                if (cases.size() % 2) carry_all(spec);
                cases.push_back(
                    {spec, &pair,
                     reference_join(spec, pair.probe, pair.build, equal_rows(pair.probe, pair.build, 1))});
            }
        }
    }
    return cases;
}

// Runs a join by hand, as any call may be the one that is cancelled.
Status run_once(Engine& engine, const StressCase& stress, const Limits& limits,
                std::vector<ResultRow>* rows) {
    const JoinSpec& spec = stress.spec;
    std::unique_ptr<Join> join;
    SealReport report;
    GPUJOIN_RETURN_IF_FAILED(engine.open(spec, limits, &join));
    OwnedBatch build(stress.tables->build, 0, stress.tables->build.rows());
    OwnedBatch probe(stress.tables->probe, 0, stress.tables->probe.rows());
    GPUJOIN_RETURN_IF_FAILED(join->append(build.view(), 0));
    GPUJOIN_RETURN_IF_FAILED(join->seal(&report));
    const SinkMemory memory(20'000);
    auto read = [&](Cursor& cursor) -> Status {
        for (ResultBatch result; !result.done;) {
            GPUJOIN_RETURN_IF_FAILED(cursor.next(memory.sink(), &result));
            read_result(spec, memory.data(), result, 0, rows);
        }
        return {};
    };
    std::unique_ptr<Cursor> cursor;
    GPUJOIN_RETURN_IF_FAILED(join->probe(probe.view(), &cursor));
    GPUJOIN_RETURN_IF_FAILED(read(*cursor));
    if (spec.kind == JoinKind::Full || spec.kind == JoinKind::RightSemi) {
        GPUJOIN_RETURN_IF_FAILED(join->scan_build(spec.kind == JoinKind::RightSemi, &cursor));
        GPUJOIN_RETURN_IF_FAILED(read(*cursor));
    }
    std::sort(rows->begin(), rows->end());
    return {};
}

TEST_P(EngineStress, ManyJoinsAtOnce) {
    std::vector<TablePair> tables;
    for (uint64_t distinct : {50, 100'000})
        tables.push_back(
            make_tables({{fixed_column(ColumnType::Fixed8), distinct, true, 0.05}}, 400, 300, distinct));
    tables.push_back(make_tables({{bytes_column(), 200, false, 0.05}}, 300, 400, 3));
    const std::vector<StressCase> cases = make_cases(tables);
    constexpr uint32_t kThreads = 8, kJoins = 60;
    std::atomic<bool> cancels[kThreads]{};
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> completed{0};
    auto work = [&](uint32_t thread) {
        for (uint32_t i = 0; i < kJoins; i++) {
            const StressCase& stress = cases[(thread * 31 + i * 7) % cases.size()];
            Ledger host(uint64_t{1} << 30), device(uint64_t{1} << 30);
            cancels[thread] = false;
            std::vector<ResultRow> rows;
            Status status = run_once(*engine_, stress, {&host, &device, &cancels[thread]}, &rows);
            if (status.ok()) {
                expect_same(stress.expected, rows, describe(stress.spec));
                completed++;
            } else {
                EXPECT_EQ(status.fault, Fault::Cancelled) << status.message;
            }
            EXPECT_EQ(host.used() + device.used(), 0u);
        }
    };
    std::thread canceller([&] {
        for (uint32_t i = 0; !stop; i++) {
            std::this_thread::sleep_for(std::chrono::microseconds(500));
            cancels[i % (kThreads / 2)] = true;  // half of the threads are left alone
        }
    });
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; thread++) threads.emplace_back(work, thread);
    for (std::thread& thread : threads) thread.join();
    stop = true;
    canceller.join();
    EXPECT_GE(completed, kThreads / 2 * kJoins);
}

// Two bands, which the first probe batch decides on: a build side of its own for each round, and what the
// probes of each thread must give.
class FirstBatches : public EngineTest {
  protected:
    static constexpr uint32_t kThreads = 6;
    static constexpr uint64_t kBatch = 50;

    void SetUp() override {
        EngineTest::SetUp();
        if (IsSkipped()) return;
        tables_ = make_band_tables({4000, 20}, kThreads * kBatch, 30'000, 0.02);
        set_spec(0);
        expected_.resize(kThreads);
        for (ResultRow& row : reference_join(spec_, tables_.probe, tables_.build, all_rows(tables_.build))) {
            uint64_t thread = row.probe_row / kBatch;
            row.probe_row -= thread * kBatch;
            expected_[thread].push_back(std::move(row));
        }
        for (const auto& rows : expected_) EXPECT_GT(rows.size(), 0u);
    }

    void set_spec(uint16_t first_band) {
        spec_ = make_spec(JoinKind::Inner, Algorithm::Index, tables_.probe, tables_.build);
        add_band(spec_, first_band);
        add_band(spec_, 1 - first_band);
    }

    void open(uint16_t first_band, std::unique_ptr<Join>* join) {
        set_spec(first_band);
        EXPECT_OK(engine_->open(spec_, limits(), join));
        append_all(**join, tables_.build, 10'000);
        SealReport report;
        EXPECT_OK((*join)->seal(&report));
        EXPECT_EQ(report.algorithm, Algorithm::Index);
    }

    // Probes with the batch of a thread. Rows are sorted: their order within a probe row is any.
    Status probe(Join& join, uint32_t thread, std::vector<ResultRow>* rows) {
        OwnedBatch batch(tables_.probe, thread * kBatch, kBatch);
        std::unique_ptr<Cursor> cursor;
        GPUJOIN_RETURN_IF_FAILED(join.probe(batch.view(), &cursor));
        std::vector<std::byte> sink(1 << 16);
        for (ResultBatch result; !result.done;) {
            GPUJOIN_RETURN_IF_FAILED(cursor->next({sink.data(), sink.size(), Memory::Host}, &result));
            read_result(spec_, sink.data(), result, 0, rows);
        }
        std::sort(rows->begin(), rows->end());
        return {};
    }

    TablePair tables_;
    JoinSpec spec_;
    std::vector<std::vector<ResultRow>> expected_;
};

TEST_P(FirstBatches, ComeAllAtOnce) {
    for (uint16_t round = 0; round < 6; round++) {
        std::unique_ptr<Join> join;
        open(round % 2, &join);
        std::barrier start(kThreads);
        std::vector<std::thread> threads;
        for (uint32_t i = 0; i < kThreads; i++)
            threads.emplace_back([&, i] {
                std::vector<ResultRow> rows;
                start.arrive_and_wait();
                EXPECT_OK(probe(*join, i, &rows));
                expect_same(expected_[i], rows, "thread " + std::to_string(i));
            });
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(join->stats().probe_batches, kThreads);
    }
}

// Whenever the cancel comes, while the build side is sorted or while others wait for that, every call ends,
// and what one left behind by half is of no harm to the next.
TEST_P(FirstBatches, AreCancelledAtAnyTime) {
    for (uint32_t microseconds : {0, 100, 300, 1000, 3000, 10'000}) {
        std::unique_ptr<Join> join;
        open(0, &join);
        std::vector<std::thread> threads;
        for (uint32_t i = 0; i < kThreads; i++)
            threads.emplace_back([&, i] {
                std::vector<ResultRow> rows;
                Status status = probe(*join, i, &rows);
                if (status.ok())
                    expect_same(expected_[i], rows, "thread " + std::to_string(i));
                else
                    EXPECT_EQ(status.fault, Fault::Cancelled) << status.message;
            });
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        cancel_ = true;
        for (std::thread& thread : threads) thread.join();
        std::vector<ResultRow> none;
        EXPECT_EQ(probe(*join, 0, &none).fault, Fault::Cancelled);
        cancel_ = false;
        std::vector<ResultRow> rows;
        EXPECT_OK(probe(*join, 1, &rows));
        expect_same(expected_[1], rows, "after the cancel");
        join.reset();
        EXPECT_EQ(host_memory_.used() + device_memory_.used(), 0u);
    }
}

GPUJOIN_FOR_EACH_ENGINE(EngineStress);
GPUJOIN_FOR_EACH_ENGINE(FirstBatches);

}  // namespace
}  // namespace gpujoin::test
