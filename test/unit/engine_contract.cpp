// Conformance of the engines to the rest of the contract: client decisions, skipping, rewinding, exporting,
// several threads, cancellation, memory limits, reports.
#include <chrono>
#include <ctime>
#include <thread>

#include "engine_harness.h"
#include "engine_tables.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

class Contract : public EngineTest {
  protected:
    // Opens a join, appends the build side and seals.
    void build(const JoinSpec& spec, const Table& table, uint64_t batch_rows = 500) {
        ASSERT_OK(engine_->open(spec, limits(), &join_));
        append_all(*join_, table, batch_rows);
        ASSERT_OK(join_->seal(&report_));
    }
    std::vector<ResultRow> probe(const JoinSpec& spec, const Table& table, const Pacing& pacing = {}) {
        std::vector<ResultRow> rows;
        probe_all(*join_, spec, table, pacing, &rows);
        return rows;
    }

    std::unique_ptr<Join> join_;
    SealReport report_;
};

TablePair integer_tables(uint64_t probe_rows, uint64_t build_rows, uint64_t distinct, double nulls = 0.05) {
    return make_tables({{fixed_column(ColumnType::Fixed4), distinct, false, nulls}}, probe_rows, build_rows,
                       99);
}

JoinSpec equality_spec(JoinKind kind, const TablePair& tables, Algorithm algorithm = Algorithm::Auto) {
    JoinSpec spec = make_spec(kind, algorithm, tables.probe, tables.build);
    add_equality(spec, 0, 0);
    return spec;
}

std::vector<ResultRow> sorted(std::vector<ResultRow> rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
}

// Reads one result into rows; false at the end.
bool read_next(Cursor& cursor, const JoinSpec& spec, uint64_t sink_bytes, std::vector<ResultRow>* rows,
               std::vector<uint64_t>* build_rows = nullptr) {
    alignas(64) static std::byte sink[1 << 20];
    ResultBatch result;
    Status status = cursor.next({sink, sink_bytes, Memory::Host}, &result);
    EXPECT_TRUE(status.ok()) << status.message;
    read_result(spec, sink, result, 0, rows);
    if (build_rows && result.rows > 0) {
        EXPECT_NE(result.build_rows, kNoBuffer);
        const auto* numbers = reinterpret_cast<const uint64_t*>(sink + result.build_rows);
        build_rows->insert(build_rows->end(), numbers, numbers + result.rows);
    }
    EXPECT_TRUE(result.rows > 0 || result.done) << result.bytes_needed << " bytes needed";
    return status.ok() && result.rows > 0 && !result.done;
}

// With client_decides every kind of join gives its pairs, with build row numbers, and matches are the
// client's.
TEST_P(Contract, ClientDecides) {
    TablePair tables = integer_tables(100, 80, 20);
    JoinSpec inner = equality_spec(JoinKind::Inner, tables);
    auto pairs = reference_join(inner, tables.probe, tables.build, all_rows(tables.build));
    for (JoinKind kind : kKinds) {
        JoinSpec spec = equality_spec(kind, tables);
        spec.client_decides = 1;
        build(spec, tables.build);
        OwnedBatch batch(tables.probe, 0, tables.probe.rows());
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join_->probe(batch.view(), &cursor));
        std::vector<ResultRow> rows;
        std::vector<uint64_t> build_rows;
        while (read_next(*cursor, spec, 2000, &rows, &build_rows)) {
        }
        ASSERT_EQ(rows.size(), build_rows.size());
        for (size_t i = 0; i < rows.size(); i++)
            EXPECT_EQ(rows[i].values, values_of(tables.build, build_rows[i]));
        expect_same(pairs, sorted(rows), describe(spec));
    }
}

TEST_P(Contract, MarkedRowsAreScanned) {
    TablePair tables = integer_tables(10, 5000, 100);
    for (JoinKind kind : {JoinKind::Right, JoinKind::RightSemi}) {
        JoinSpec spec = equality_spec(kind, tables);
        spec.client_decides = 1;
        build(spec, tables.build);
        std::vector<uint64_t> marked{3, 4, 4999, 3};
        ASSERT_OK(join_->mark_matched(marked));
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join_->scan_build(kind == JoinKind::RightSemi, &cursor));
        std::vector<ResultRow> rows;
        std::vector<uint64_t> numbers;
        while (read_next(*cursor, spec, 100'000, &rows, &numbers)) {
        }
        EXPECT_EQ(numbers.size(), kind == JoinKind::RightSemi ? 3u : 4997u);
        for (uint64_t number : numbers)
            EXPECT_EQ(number == 3 || number == 4 || number == 4999, kind == JoinKind::RightSemi);
        uint64_t beyond = tables.build.rows();
        EXPECT_FALSE(join_->mark_matched({&beyond, 1}).ok());
    }
}

// Appends rows that are not in order: from several threads, each of which goes backwards in small batches.
void append_backwards(Join& join, const Table& build) {
    constexpr uint64_t kThreads = 3, kBatchRows = 70;
    auto append = [&](uint64_t thread) {
        for (uint64_t end = build.rows(); end > 0;) {
            const uint64_t first = end - std::min(end, kBatchRows);
            if (end % kThreads == thread)
                EXPECT_OK(join.append(OwnedBatch(build, first, end - first).view(), first));
            end = first;
        }
    };
    std::vector<std::jthread> threads;
    for (uint64_t i = 0; i < kThreads; i++) threads.emplace_back(append, i);
}

// The candidates of a batch of probe rows and what is scanned after some rows were marked bear the numbers
// that their rows have in the table.
void expect_numbers_of_table(Join& join, const JoinSpec& spec, const TablePair& tables) {
    OwnedBatch batch(tables.probe, 0, tables.probe.rows());
    std::vector<ResultRow> rows;
    std::vector<uint64_t> numbers;
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join.probe(batch.view(), &cursor));
    while (read_next(*cursor, spec, 50'000, &rows, &numbers)) {
    }
    EXPECT_GT(rows.size(), 0u);
    const std::vector<uint64_t> marked{0, 69, 70, 700, tables.build.rows() - 1};
    ASSERT_OK(join.mark_matched(marked));
    ASSERT_OK(join.scan_build(true, &cursor));
    while (read_next(*cursor, spec, 50'000, &rows, &numbers)) {
    }
    ASSERT_EQ(rows.size(), numbers.size());
    for (size_t i = 0; i < rows.size(); i++) EXPECT_EQ(rows[i].values, values_of(tables.build, numbers[i]));
    ASSERT_GT(numbers.size(), marked.size());
    std::vector<uint64_t> scanned(numbers.end() - static_cast<ptrdiff_t>(marked.size()), numbers.end());
    std::ranges::sort(scanned);
    EXPECT_EQ(scanned, marked);
}

TEST_P(Contract, BuildRowsAreNumberedByTheCaller) {
    TablePair tables = integer_tables(50, 2000, 300);
    for (Algorithm algorithm : kAlgorithms) {
        JoinSpec spec = equality_spec(JoinKind::RightSemi, tables, algorithm);
        spec.client_decides = 1;
        SCOPED_TRACE(describe(spec));
        std::unique_ptr<Join> first;
        ASSERT_OK(engine_->open(spec, limits(), &first));
        append_backwards(*first, tables.build);
        ASSERT_OK(engine_->open(spec, limits(), &join_));
        auto append = [&](const BatchView& batch, uint64_t row) { return join_->append(batch, row); };
        ASSERT_OK(first->export_build(append));
        for (Join* join : {first.get(), join_.get()}) {
            ASSERT_OK(join->seal(&report_));
            expect_numbers_of_table(*join, spec, tables);
        }
    }
}

TEST_P(Contract, BuildRowsThatAreMissingOrComeTwiceAreRefused) {
    TablePair tables = integer_tables(1, 100, 20);
    JoinSpec spec = equality_spec(JoinKind::Inner, tables);
    using Rows = std::pair<uint64_t, uint64_t>;  // the first one, and how many
    auto seal_of = [&](const std::vector<Rows>& batches) {
        EXPECT_OK(engine_->open(spec, limits(), &join_));
        for (auto [first, rows] : batches)
            EXPECT_OK(join_->append(OwnedBatch(tables.build, first, rows).view(), first));
        return join_->seal(&report_);
    };
    EXPECT_OK(seal_of({}));
    EXPECT_OK(seal_of({{0, 10}, {10, 0}, {10, 90}}));
    EXPECT_OK(seal_of({{50, 0}, {50, 50}, {0, 50}}));
    const std::vector<Rows> wrong[] = {
        {{1, 10}}, {{0, 10}, {11, 89}}, {{60, 40}, {0, 50}}, {{0, 10}, {0, 10}}, {{40, 60}, {0, 41}}};
    for (const std::vector<Rows>& batches : wrong) {
        Status status = seal_of(batches);
        EXPECT_EQ(status.fault, Fault::Error);
        EXPECT_STREQ(status.sqlstate, "XX000");
    }
}

// After a skip no row of that probe row comes, whether it was still to be found or already had been.
TEST_P(Contract, SkippedProbeRowsGiveNothingMore) {
    TablePair tables = integer_tables(30, 300, 3, 0);
    JoinSpec spec = equality_spec(JoinKind::Semi, tables);
    spec.client_decides = 1;
    build(spec, tables.build);
    OwnedBatch batch(tables.probe, 0, tables.probe.rows());
    for (uint64_t sink_bytes : {600, 2000, 30'000}) {
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join_->probe(batch.view(), &cursor));
        std::vector<ResultRow> rows;
        int64_t skipped = -1;
        bool more = true;
        int filled = 0;
        while (more) {
            size_t before = rows.size();
            more = read_next(*cursor, spec, sink_bytes, &rows);
            if (rows.size() == before) continue;
            filled++;
            EXPECT_GT(rows[before].probe_row, skipped);
            skipped = rows.back().probe_row;
            cursor->skip(static_cast<uint32_t>(skipped));
        }
        EXPECT_EQ(skipped, 29);
        EXPECT_LE(filled, 30) << "no probe row may fill a sink after its skip";
        EXPECT_LT(rows.size(), 3000u);
    }
}

TEST_P(Contract, RewindForgetsMatches) {
    TablePair tables = integer_tables(50, 60, 30);
    JoinSpec spec = equality_spec(JoinKind::Full, tables);
    build(spec, tables.build);
    auto expected = reference_join(spec, tables.probe, tables.build, all_rows(tables.build));
    for (int round = 0; round < 2; round++) {
        auto rows = probe(spec, tables.probe);
        scan_all(*join_, spec, {}, &rows);
        expect_same(expected, sorted(rows), "round " + std::to_string(round));
        ASSERT_OK(join_->rewind());
    }
    std::vector<ResultRow> all;
    scan_all(*join_, spec, {}, &all);
    EXPECT_EQ(all.size(), tables.build.rows());
}

// What was appended comes out again, and joined anew gives the same; also without a seal.
TEST_P(Contract, ExportRoundTrip) {
    TablePair tables = integer_tables(100, 1234, 50, 0.2);
    JoinSpec spec = equality_spec(JoinKind::Right, tables);
    for (bool seal : {false, true}) {
        std::unique_ptr<Join> first;
        ASSERT_OK(engine_->open(spec, limits(), &first));
        append_all(*first, tables.build, 100);
        if (seal) ASSERT_OK(first->seal(&report_));
        ASSERT_OK(engine_->open(spec, limits(), &join_));
        uint64_t rows = 0;
        ASSERT_OK(first->export_build([&](const BatchView& batch, uint64_t first_row) {
            rows += batch.rows;
            EXPECT_LE(batch.rows, kMaxBatchRows);
            EXPECT_EQ(batch.columns.size(), tables.build.columns.size());
            return join_->append(batch, first_row);
        }));
        EXPECT_EQ(rows, tables.build.rows());
        ASSERT_OK(join_->seal(&report_));
        auto result = probe(spec, tables.probe);
        scan_all(*join_, spec, {}, &result);
        expect_same(reference_join(spec, tables.probe, tables.build, all_rows(tables.build)), sorted(result),
                    "exported");
        Status stopped = first->export_build(
            [](const BatchView&, uint64_t) { return failure(Fault::Error, "XX000", "no"); });
        EXPECT_STREQ(stopped.message, "no");
    }
}

TEST_P(Contract, SeveralThreadsAppendAndProbe) {
    TablePair tables = integer_tables(4000, 4000, 2000);
    JoinSpec spec = equality_spec(JoinKind::Full, tables);
    constexpr int kThreads = 4;
    ASSERT_OK(engine_->open(spec, limits(), &join_));
    auto on_threads = [](auto body) {
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; t++) threads.emplace_back(body, t);
        for (std::thread& thread : threads) thread.join();
    };
    const uint64_t share = 4000 / kThreads;
    std::jthread watcher([this](std::stop_token over) {
        while (!over.stop_requested()) {
            EXPECT_LE(join_->stats().build_rows, 4000u);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    });
    on_threads([&](int t) {
        for (uint64_t i = 0; i < share; i += 100) {
            OwnedBatch batch(tables.build, t * share + i, 100);
            ASSERT_OK(join_->append(batch.view(), t * share + i));
        }
    });
    ASSERT_OK(join_->seal(&report_));
    EXPECT_EQ(report_.build_rows, 4000u);
    std::vector<ResultRow> rows[kThreads];
    on_threads([&](int t) {
        for (uint64_t i = 0; i < share; i += 250) {
            OwnedBatch batch(tables.probe, t * share + i, 250);
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join_->probe(batch.view(), &cursor));
            drain(*cursor, spec, 50'000, t * share + i, &rows[t]);
        }
    });
    std::vector<ResultRow> all;
    for (auto& part : rows) all.insert(all.end(), part.begin(), part.end());
    scan_all(*join_, spec, {}, &all);
    expect_same(reference_join(spec, tables.probe, tables.build, all_rows(tables.build)), sorted(all),
                "threads");
}

TEST_P(Contract, CancelStopsEveryCall) {
    TablePair tables = integer_tables(1000, 1000, 10);
    JoinSpec spec = equality_spec(JoinKind::Inner, tables);
    build(spec, tables.build);
    OwnedBatch batch(tables.probe, 0, 1000);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join_->probe(batch.view(), &cursor));
    std::unique_ptr<Join> other;
    ASSERT_OK(engine_->open(spec, limits(), &other));
    append_all(*other, tables.build, 1000);
    cancel_ = true;
    alignas(64) static std::byte sink[4096];
    ResultBatch result;
    EXPECT_EQ(cursor->next({sink, sizeof sink, Memory::Host}, &result).fault, Fault::Cancelled);
    EXPECT_EQ(other->seal(&report_).fault, Fault::Cancelled);
}

// What the process has computed so far: a busy machine adds nothing to it. (Waiting for a GPU is computing,
// too.)
std::chrono::nanoseconds computed() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// A cancel from another thread takes effect soon, in the middle of a cross join that finds nothing, for
// minutes on a processor and seconds on a GPU.
TEST_P(Contract, CancelInTheMiddleOfACursor) {
    TablePair tables = integer_tables(kManyRows, 2 * kManyRows, 1, 0);
    JoinSpec spec = make_spec(JoinKind::Inner, Algorithm::NestedLoop, tables.probe, tables.build);
    add_filter(spec, 0, Comparison::Less, 0);
    build(spec, tables.build, kManyRows);
    OwnedBatch batch(tables.probe, 0, tables.probe.rows());
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join_->probe(batch.view(), &cursor));
    std::chrono::nanoseconds asked;
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        asked = computed();
        cancel_ = true;
    });
    alignas(64) static std::byte sink[4096];
    ResultBatch result;
    Status status = cursor->next({sink, sizeof sink, Memory::Host}, &result);
    const std::chrono::nanoseconds answered = computed();
    canceller.join();
    EXPECT_EQ(status.fault, Fault::Cancelled);
    EXPECT_LT(answered - asked, std::chrono::milliseconds(500));
}

// Whatever the limit, a join either works or says 53200; what was appended can be exported, and all is given
// back.
TEST_P(Contract, MemoryLimits) {
    TablePair tables = integer_tables(2000, 5000, 100'000);
    JoinSpec spec = equality_spec(JoinKind::Inner, tables);
    bool failed = false, worked = false;
    for (uint64_t limit : {0, 10'000, 100'000, 300'000, 600'000, 1'000'000, 100'000'000}) {
        Ledger host(limit), device(limit);
        Limits limits{&host, &device, &cancel_};
        {
            std::unique_ptr<Join> join;
            Status status = engine_->open(spec, limits, &join);
            uint64_t appended = 0;
            for (uint64_t first = 0; status.ok() && first < 5000; first += 500) {
                OwnedBatch batch(tables.build, first, 500);
                status = join->append(batch.view(), first);
                if (status.ok()) appended += 500;
            }
            if (status.ok()) status = join->seal(&report_);
            if (!status.ok()) {
                failed = true;
                EXPECT_STREQ(status.sqlstate, "53200");
                EXPECT_TRUE(status.fault == Fault::HostMemory || status.fault == Fault::DeviceMemory);
                uint64_t exported = 0;
                if (join) {
                    ASSERT_OK(join->export_build([&](const BatchView& batch, uint64_t) {
                        exported += batch.rows;
                        return Status{};
                    }));
                }
                EXPECT_EQ(exported, appended);
            } else {
                worked = true;
                EXPECT_GT(join->stats().peak_memory, 0u);
            }
        }
        EXPECT_EQ(host.used() + device.used(), 0u);
        EXPECT_LE(host.peak(), limit);
    }
    EXPECT_TRUE(failed && worked);
}

TEST_P(Contract, ReportsAndStats) {
    TablePair tables = integer_tables(300, 500, 20, 0.1);
    JoinSpec spec = equality_spec(JoinKind::Inner, tables, Algorithm::Hash);
    build(spec, tables.build, 100);
    EXPECT_EQ(report_.algorithm, Algorithm::Hash);
    EXPECT_EQ(report_.order, ResultOrder::Ascending);
    EXPECT_EQ(report_.build_rows, 500u);
    probe(spec, tables.probe, {.probe_batch = 100});
    auto bytes_of = [](std::span<const ColumnSpec> columns, const Table& table) {
        uint64_t bytes = 0;
        for (uint64_t first = 0; first < table.rows(); first += 100)
            bytes += batch_bytes(columns, OwnedBatch(table, first, 100).view());
        return bytes;
    };
    JoinStats stats = join_->stats();
    EXPECT_EQ(stats.build_rows, 500u);
    EXPECT_EQ(stats.build_batches, 5u);
    EXPECT_EQ(stats.build_bytes, bytes_of({spec.build, spec.build_columns}, tables.build));
    EXPECT_EQ(stats.probe_rows, 300u);
    EXPECT_EQ(stats.probe_batches, 3u);
    EXPECT_EQ(stats.probe_bytes, bytes_of({spec.probe, spec.probe_columns}, tables.probe));
    EXPECT_EQ(stats.algorithm, Algorithm::Hash);
}

// A forced algorithm is used where it can do the join, and replaced where it cannot.
TEST_P(Contract, ForcedAlgorithms) {
    TablePair tables = integer_tables(10, 100, 20);
    auto algorithm_of = [&](Algorithm forced, bool equality, bool range) {
        JoinSpec spec = make_spec(JoinKind::Inner, forced, tables.probe, tables.build);
        if (equality) add_equality(spec, 0, 0);
        if (range) add_range(spec, 0, Comparison::Less, 0);
        build(spec, tables.build);
        return report_.algorithm;
    };
    EXPECT_EQ(algorithm_of(Algorithm::Auto, true, false), Algorithm::Hash);
    EXPECT_EQ(algorithm_of(Algorithm::Auto, false, true), Algorithm::Index);
    EXPECT_EQ(algorithm_of(Algorithm::Auto, false, false), Algorithm::NestedLoop);
    EXPECT_EQ(algorithm_of(Algorithm::Hash, true, true), Algorithm::Hash);
    EXPECT_EQ(algorithm_of(Algorithm::Hash, false, false), Algorithm::NestedLoop);
    EXPECT_NE(algorithm_of(Algorithm::Hash, false, true), Algorithm::Hash);
    EXPECT_EQ(algorithm_of(Algorithm::Index, true, true), Algorithm::Index);
    EXPECT_EQ(algorithm_of(Algorithm::Index, true, false), Algorithm::Hash);
    EXPECT_EQ(algorithm_of(Algorithm::SortMerge, true, false), Algorithm::SortMerge);
    EXPECT_EQ(algorithm_of(Algorithm::SortMerge, false, true), Algorithm::SortMerge);
    EXPECT_EQ(algorithm_of(Algorithm::SortMerge, true, true), Algorithm::SortMerge);
    EXPECT_EQ(algorithm_of(Algorithm::SortMerge, false, false), Algorithm::NestedLoop);
    EXPECT_EQ(algorithm_of(Algorithm::Auto, true, true), Algorithm::Index);
    EXPECT_EQ(algorithm_of(Algorithm::NestedLoop, true, true), Algorithm::NestedLoop);
}

GPUJOIN_FOR_EACH_ENGINE(Contract);

}  // namespace
}  // namespace gpujoin::test
