// What only the CUDA engine has: pinned memory, device memory that runs out, cancelling work on the device,
// and the way back to host memory. The conformance suites cover the rest of the contract.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cuda/plan.h"
#include "engine_harness.h"
#include "engine_tables.h"

#ifdef GPUJOIN_TEST_CUDA

namespace gpujoin::test {

using namespace cuda;
namespace {

class CudaEngineTest : public EngineTest {
  protected:
    // Two tables whose first columns are a key with duplicates and a NULL here and there.
    TablePair tables(uint64_t probe_rows, uint64_t build_rows) {
        return make_tables({{fixed_column(ColumnType::Fixed8), build_rows / 4 + 1, true, 0.05}}, probe_rows,
                           build_rows, 11);
    }
    JoinSpec spec(JoinKind kind, const TablePair& tables, Algorithm algorithm = Algorithm::Hash) {
        JoinSpec spec = make_spec(kind, algorithm, tables.probe, tables.build);
        add_equality(spec, 0, 0);
        return spec;
    }
};

// Memory pinned once, handed out from its start.
class PinnedArena {
  public:
    explicit PinnedArena(Engine* engine)
        : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, kBytes))) {
        status = engine->pin(memory_, kBytes);
    }
    std::byte* take(uint64_t bytes) {
        std::byte* start = memory_ + used_;
        used_ += align_buffer(bytes);
        return used_ <= kBytes ? start : nullptr;
    }
    template <typename T>
    const T* copy(const T* source, uint64_t bytes) {
        if (!source) return nullptr;
        return reinterpret_cast<const T*>(std::memcpy(take(bytes), source, bytes));
    }
    void reset() { used_ = 0; }
    Status status;

  private:
    static constexpr uint64_t kBytes = 16 << 20;
    std::byte* memory_;  // stays pinned to the end of the process
    uint64_t used_ = 0;
};

// The same batch in pinned memory.
struct PinnedBatch {
    PinnedBatch(PinnedArena& arena, const Table& table, const BatchView& batch) : rows(batch.rows) {
        for (size_t i = 0; i < batch.columns.size(); i++) {
            ColumnView view = batch.columns[i];
            view.validity = arena.copy(view.validity, validity_bytes(rows));
            view.values = arena.copy(view.values, rows * fixed_width(table.columns[i].spec.type));
            view.offsets = arena.copy(view.offsets, (rows + 1) * 4);
            view.data = arena.copy(view.data, view.data_bytes);
            columns.push_back(view);
        }
    }
    BatchView view() const { return {rows, columns, Memory::PinnedHost}; }
    uint64_t rows;
    std::vector<ColumnView> columns;
};

TEST_P(CudaEngineTest, PinnedBatchesAndSinks) {
    static PinnedArena arena(engine_);
    ASSERT_OK(arena.status);
    TablePair made = tables(3000, 2000);
    JoinSpec joined = spec(JoinKind::Full, made);
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(joined, limits(), &join));
    OwnedBatch build(made.build, 0, made.build.rows());
    arena.reset();
    ASSERT_OK(join->append(PinnedBatch(arena, made.build, build.view()).view(), 0));
    SealReport report;
    ASSERT_OK(join->seal(&report));
    EXPECT_EQ(report.build_rows, made.build.rows());
    OwnedBatch probe(made.probe, 0, made.probe.rows());
    arena.reset();
    PinnedBatch pinned(arena, made.probe, probe.view());
    Sink sink{arena.take(256 << 10), 256 << 10, Memory::PinnedHost};
    std::vector<ResultRow> rows;
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->probe(pinned.view(), &cursor));
    for (ResultBatch result; !result.done;) {
        ASSERT_OK(cursor->next(sink, &result));
        ASSERT_EQ(result.bytes_needed, 0u);
        read_result(joined, sink.memory, result, 0, &rows);
    }
    cursor.reset();
    scan_all(*join, joined, {}, &rows);
    std::sort(rows.begin(), rows.end());
    expect_same(reference_join(joined, made.probe, made.build, all_rows(made.build)), rows, "pinned");
}

// The rows of exported batches as values.
std::vector<std::vector<Value>> read_batch(const Table& table, const BatchView& batch) {
    std::vector<std::vector<Value>> rows(batch.rows);
    for (size_t c = 0; c < table.columns.size(); c++) {
        const ColumnView& column = batch.columns[c];
        uint32_t width = fixed_width(table.columns[c].spec.type);
        for (uint64_t i = 0; i < batch.rows; i++) {
            if (!column.is_valid(i)) {
                rows[i].push_back(std::nullopt);
                continue;
            }
            const auto* start = reinterpret_cast<const char*>(width ? column.values + i * width
                                                                    : column.data + column.offsets[i]);
            uint64_t bytes = width ? width : column.offsets[i + 1] - column.offsets[i];
            rows[i].push_back(std::string(start, bytes));
        }
    }
    return rows;
}

void expect_export(Join& join, const Table& build, uint64_t rows) {
    uint64_t row = 0;
    ASSERT_OK(join.export_build([&](const BatchView& batch, uint64_t first_row) {
        EXPECT_EQ(first_row, row);
        for (const auto& values : read_batch(build, batch)) {
            for (size_t c = 0; c < values.size(); c++)
                EXPECT_EQ(values[c], build.columns[c].values[row]) << "row " << row << ", column " << c;
            row++;
        }
        return Status{};
    }));
    EXPECT_EQ(row, rows);
}

TEST_P(CudaEngineTest, ExportsEveryRowBeforeAndAfterSeal) {
    for (uint64_t batch : {50, 700, 5000}) {
        TablePair made = tables(10, 2000);
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(spec(JoinKind::Inner, made), limits(), &join));
        append_all(*join, made.build, batch);
        expect_export(*join, made.build, 2000);
        SealReport report;
        ASSERT_OK(join->seal(&report));
        expect_export(*join, made.build, 2000);
    }
}

// Room for a few batches, then for all but not for the lookup structure: refused each time, and what was
// appended can be taken back.
TEST_P(CudaEngineTest, RefusesWhatDoesNotFit) {
    TablePair made = tables(10, 4000);
    JoinSpec joined = spec(JoinKind::Inner, made);
    Ledger all(uint64_t{1} << 30);
    {
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(joined, {&host_memory_, &all, &cancel_}, &join));
        append_all(*join, made.build, 500);
        EXPECT_GT(all.used(), 0u);
    }
    EXPECT_EQ(all.used(), 0u);
    for (uint64_t limit : {all.peak() / 2, all.peak()}) {
        Ledger small(limit);
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(joined, {&host_memory_, &small, &cancel_}, &join));
        Status status;
        uint64_t rows = 0;
        for (; rows < 4000 && status.ok(); rows += status.ok() ? 500 : 0) {
            OwnedBatch batch(made.build, rows, 500);
            status = join->append(batch.view(), rows);
        }
        SealReport report;
        if (status.ok()) status = join->seal(&report);
        EXPECT_EQ(status.fault, Fault::DeviceMemory) << status.message;
        EXPECT_STREQ(status.sqlstate, "53200");
        expect_export(*join, made.build, rows);
        join.reset();
        EXPECT_EQ(small.used(), 0u);
    }
}

// What of a plan other parts of a join rely on before the driving column is known: everything but the search
// itself and what is packed.
TEST(CudaPlan, LittleDependsOnTheColumnThatDrives) {
    TablePair made = make_tables({{fixed_column(ColumnType::Fixed4), 10}, {bytes_column(), 10}}, 1, 1, 1);
    JoinSpec spec = make_spec(JoinKind::Full, Algorithm::Auto, made.probe, made.build);
    add_range(spec, 0, Comparison::Less, 0);
    EXPECT_FALSE(plan_join(spec, 1000, true).chooses_late);
    add_range(spec, 1, Comparison::Less, 1);
    add_filter(spec, 1, Comparison::NotEqual, 1);
    for (Algorithm algorithm : {Algorithm::Index, Algorithm::SortMerge, Algorithm::NestedLoop}) {
        spec.algorithm = algorithm;
        JoinPlan plans[] = {plan_join(spec, 1000, true, 0), plan_join(spec, 1000, true, 1)};
        for (int column = 0; column < 2; column++) {
            const JoinPlan& plan = plans[column];
            const bool searches = algorithm != Algorithm::NestedLoop;
            EXPECT_EQ(plan.algorithm, algorithm);
            EXPECT_EQ(plan.chooses_late, searches);
            EXPECT_EQ(plan.range_column, searches ? column : -1);
            EXPECT_EQ(plan.bounds.size(), searches ? 1u : 0u);
            EXPECT_TRUE(plan.tests_candidates());
            ASSERT_EQ(plan.residual.size(), 2u);
            for (size_t i = 0; i < 2; i++)
                EXPECT_EQ(plan.residual[i].comparison, plans[0].residual[i].comparison);
        }
    }
}

// The same numbers times 2^40, which 8 bytes are needed for even if they are rebased.
void widen(Column* column) {
    column->spec = fixed_column(ColumnType::Fixed8);
    for (Value& value : column->values) {
        int32_t number = 0;
        std::memcpy(&number, value->data(), sizeof number);
        value = value_of(int64_t{number} << 40);
    }
}

// What the join keeps on the device tells which of two bands the first batch has made drive: that one's keys
// are kept in 4 bytes if these hold them, those of the other as 8 bytes.
TEST_P(CudaEngineTest, TheFirstBatchDecidesWhichBandDrives) {
    const uint64_t rows = 20'000;
    for (uint16_t first_band : {0, 1}) {
        uint64_t kept[2];
        for (int narrow_band : {0, 1}) {
            TablePair made =
                make_band_tables(narrow_band ? std::vector{5000, 3} : std::vector{3, 5000}, 2000, rows);
            for (Column* column : {&made.build.columns[1], &made.probe.columns[2], &made.probe.columns[3]})
                widen(column);
            JoinSpec joined = make_spec(JoinKind::Inner, Algorithm::Index, made.probe, made.build);
            add_band(joined, first_band);
            add_band(joined, 1 - first_band);
            std::unique_ptr<Join> join;
            ASSERT_OK(engine_->open(joined, limits(), &join));
            append_all(*join, made.build, rows);
            SealReport report;
            ASSERT_OK(join->seal(&report));
            const uint64_t sealed = device_memory_.used();
            OwnedBatch probe(made.probe, 0, 2000);
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->probe(probe.view(), &cursor));
            cursor.reset();
            kept[narrow_band] = device_memory_.used() - sealed;
            EXPECT_GE(kept[narrow_band], 16 * rows) << "nothing was put off";
        }
        // Small arrays are rounded up.
        EXPECT_NEAR(static_cast<double>(kept[1] - kept[0]), 4.0 * rows, 1024) << "band " << first_band;
    }
}

// With two bands the build side is sorted for the first probe batch. Where there is no room for that, the
// batch is refused, and nothing is left of the attempt: every row can be taken back, and a batch that comes
// when there is room again is answered.
TEST_P(CudaEngineTest, RefusesTheFirstBatchWhereSortingDoesNotFit) {
    const uint64_t rows = 200'000;
    TablePair made = make_band_tables({5000, 10}, 20, rows);
    for (Algorithm algorithm : {Algorithm::Index, Algorithm::SortMerge}) {
        JoinSpec joined = make_spec(JoinKind::Inner, algorithm, made.probe, made.build);
        add_band(joined, 0);
        add_band(joined, 1);
        Ledger ledger(uint64_t{64} << 20);
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(joined, {&host_memory_, &ledger, &cancel_}, &join));
        append_all(*join, made.build, rows);
        SealReport report;
        ASSERT_OK(join->seal(&report));
        EXPECT_EQ(report.algorithm, algorithm);
        const uint64_t sealed = ledger.used();
        OwnedBatch probe(made.probe, 0, 20);
        std::unique_ptr<Cursor> cursor;
        for (uint64_t room : {uint64_t{300} << 10, 6 * rows, 12 * rows}) {  // a sort takes 16 a row and more
            const uint64_t taken = ledger.limit() - ledger.used() - room;
            ASSERT_TRUE(ledger.charge(taken));
            Status status = join->probe(probe.view(), &cursor);
            EXPECT_EQ(status.fault, Fault::DeviceMemory) << status.message;
            EXPECT_STREQ(status.sqlstate, "53200");
            ledger.release(taken);
            EXPECT_EQ(ledger.used(), sealed);
        }
        expect_export(*join, made.build, rows);
        std::vector<ResultRow> found;
        probe_all(*join, joined, made.probe, {}, &found);
        std::sort(found.begin(), found.end());
        expect_same(reference_join(joined, made.probe, made.build, all_rows(made.build)), found, "later");
        EXPECT_GT(join->stats().peak_seal_memory, sealed);
        join.reset();
        EXPECT_EQ(ledger.used(), 0u);
    }
}

TEST_P(CudaEngineTest, PeakOfASealStaysWithinItsBound) {
    const uint64_t rows = 200'000;
    for (uint64_t distinct : {uint64_t{50'000}, uint64_t{1} << 60}) {
        TablePair made = make_tables({{fixed_column(ColumnType::Fixed8), distinct, true}}, 1, rows, 3);
        JoinSpec joined = spec(JoinKind::Inner, made);
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(joined, limits(), &join));
        append_all(*join, made.build, 20'000);
        uint64_t columns = device_memory_.used();
        SealReport report;
        ASSERT_OK(join->seal(&report));
        EXPECT_LE(join->stats().peak_seal_memory, columns + 48 * rows + (1 << 20));
    }
}

TEST_P(CudaEngineTest, CancelIsSeenByEveryCall) {
    TablePair made = tables(100, 100);
    std::unique_ptr<Join> join;
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(engine_->open(spec(JoinKind::Inner, made), limits(), &join));
    append_all(*join, made.build, 100);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    OwnedBatch probe(made.probe, 0, 100);
    ASSERT_OK(join->probe(probe.view(), &cursor));
    cancel_ = true;
    std::vector<std::byte> sink(1 << 16);
    ResultBatch result;
    EXPECT_EQ(cursor->next({sink.data(), sink.size(), Memory::Host}, &result).fault, Fault::Cancelled);
    std::unique_ptr<Cursor> second;
    EXPECT_EQ(join->probe(probe.view(), &second).fault, Fault::Cancelled);
    EXPECT_EQ(join->append(probe.view(), 0).fault, Fault::Cancelled);
}

// A nested loop of 10^11 pairs without a result, cancelled in its middle.
TEST_P(CudaEngineTest, CancelStopsALongNestedLoop) {
    const uint64_t rows = 320'000;
    Table probe{{number_column(rows), number_column(rows)}};
    JoinSpec joined = make_spec(JoinKind::Inner, Algorithm::NestedLoop, probe, probe);
    add_range(joined, 0, Comparison::Less, 0);
    add_range(joined, 1, Comparison::Greater, 1);
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(joined, limits(), &join));
    append_all(*join, probe, rows);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    OwnedBatch batch(probe, 0, rows);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->probe(batch.view(), &cursor));
    std::chrono::steady_clock::time_point set;
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        set = std::chrono::steady_clock::now();
        cancel_ = true;
    });
    std::vector<std::byte> sink(1 << 16);
    ResultBatch result;
    Status status = cursor->next({sink.data(), sink.size(), Memory::Host}, &result);
    auto returned = std::chrono::steady_clock::now();
    canceller.join();
    EXPECT_EQ(result.rows, 0u);
    if (status.ok()) GTEST_SKIP() << "the device was done before it could be cancelled";
    EXPECT_EQ(status.fault, Fault::Cancelled);
    EXPECT_LT(std::chrono::duration<double>(returned - set).count(), 0.1);
}

// One row at a time, and after the first of each probe row the client has seen enough: also where the term
// is tested on every candidate.
TEST_P(CudaEngineTest, SkipLeavesOutTheRestOfAProbeRow) {
    TablePair made = make_tables({{fixed_column(ColumnType::Fixed4), 3}}, 40, 500, 5);
    for (Algorithm algorithm : {Algorithm::Hash, Algorithm::NestedLoop}) {
        JoinSpec joined = spec(JoinKind::Semi, made, algorithm);
        joined.client_decides = 1;
        joined.outputs = 0;
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(joined, limits(), &join));
        append_all(*join, made.build, 500);
        SealReport report;
        ASSERT_OK(join->seal(&report));
        OwnedBatch probe(made.probe, 0, 40);
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join->probe(probe.view(), &cursor));
        alignas(64) std::byte sink[128];  // one row: two buffers of 64 bytes
        std::vector<uint32_t> seen;
        for (ResultBatch result; !result.done;) {
            ASSERT_OK(cursor->next({sink, sizeof sink, Memory::Host}, &result));
            for (uint32_t i = 0; i < result.rows; i++) {
                uint32_t row;
                std::memcpy(&row, sink + result.probe_rows + 4 * i, 4);
                if (seen.empty() || seen.back() != row) seen.push_back(row);
                if (i + 1 == result.rows) cursor->skip(row);
            }
            ASSERT_LT(seen.size(), 41u);
        }
        EXPECT_EQ(seen.size(), 40u) << name_of(algorithm);
    }
}

TEST_P(CudaEngineTest, MarksByTheClientAreForgottenOnRewind) {
    TablePair made = tables(10, 300);
    JoinSpec joined = spec(JoinKind::RightSemi, made);
    joined.client_decides = 1;
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(joined, limits(), &join));
    append_all(*join, made.build, 100);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    const uint64_t marked[] = {0, 7, 299, 7};
    ASSERT_OK(join->mark_matched(marked));
    const uint64_t wrong[] = {300};
    EXPECT_EQ(join->mark_matched(wrong).fault, Fault::Protocol);
    std::vector<ResultRow> rows;
    scan_all(*join, joined, {}, &rows);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1].values, values_of(made.build, 7));
    ASSERT_OK(join->rewind());
    rows.clear();
    scan_all(*join, joined, {}, &rows);
    EXPECT_TRUE(rows.empty());
}

TEST_P(CudaEngineTest, SeveralThreadsAppendAndProbe) {
    const int threads = 6;
    TablePair made = tables(2400, 3000);
    JoinSpec joined = spec(JoinKind::Inner, made);
    joined.outputs = 0;
    uint64_t expected = reference_join(joined, made.probe, made.build, all_rows(made.build)).size();
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(joined, limits(), &join));
    auto in_threads = [](auto work) {
        std::vector<std::thread> running;
        for (int i = 0; i < threads; i++) running.emplace_back(work, i);
        for (std::thread& thread : running) thread.join();
    };
    in_threads([&](int thread) {
        OwnedBatch batch(made.build, thread * 500, 500);
        ASSERT_OK(join->append(batch.view(), thread * 500));
    });
    SealReport report;
    ASSERT_OK(join->seal(&report));
    std::atomic<uint64_t> found{0};
    in_threads([&](int thread) {
        for (int repeat = 0; repeat < 5; repeat++) {
            OwnedBatch batch(made.probe, thread * 400, 400);
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->probe(batch.view(), &cursor));
            std::vector<ResultRow> rows;
            drain(*cursor, joined, 4096, 0, &rows);
            found += rows.size();
        }
    });
    EXPECT_EQ(found, 5 * expected);
}

INSTANTIATE_TEST_SUITE_P(Engines, CudaEngineTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(CudaDevices, EitherAreListedOrAReasonIsGiven) {
    std::string why_none;
    std::vector<DeviceDescription> devices = list_cuda_devices(&why_none);
    EXPECT_EQ(devices.empty(), !why_none.empty()) << why_none;
    for (const DeviceDescription& device : devices) {
        EXPECT_EQ(device.engine, "cuda");
        EXPECT_GT(device.memory, 0u);
        EXPECT_FALSE(device.state.empty());
    }
    std::unique_ptr<Engine> engine;
    Status status = make_cuda_engine(static_cast<int>(devices.size()), 0, &engine);
    EXPECT_EQ(status.fault, Fault::Error);
    EXPECT_STREQ(status.sqlstate, "58000");
}

// Joins may take no more than there is, whatever is set.
TEST(CudaDevices, MemoryIsALimit) {
    std::string why_none;
    if (list_cuda_devices(&why_none).empty()) GTEST_SKIP() << why_none;
    std::unique_ptr<Engine> engine;
    ASSERT_OK(make_cuda_engine(0, uint64_t{1} << 46, &engine));
    const DeviceDescription description = engine->describe();
    EXPECT_GT(description.join_memory, 0u);
    EXPECT_LE(description.join_memory, description.memory);
}

}  // namespace
}  // namespace gpujoin::test

#endif
