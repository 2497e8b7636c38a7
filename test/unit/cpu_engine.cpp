// What is particular to the CPU engine: memory that clients can write to at any time, address space, and the
// pieces that take long.
#include <sys/mman.h>
#include <unistd.h>

#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/index/key_trees.h"
#include "engine/cpu/work/partition.h"
#include "engine_harness.h"
#include "engine_tables.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

// Tuples that are in the first bucket when they are counted, and in the last one when they are written.
TEST(CpuEngine, PartitioningStaysInsideWhenKeysChange) {
    struct Tuple {
        uint32_t bucket;
        uint32_t row;
    };
    constexpr uint32_t kLargest = 256;  // buckets: enough for whole lines to be collected
    constexpr uint64_t kRows = 200'000, kBehind = 10'000;
    constexpr Tuple kUntouched = {~0u, ~0u};
    for (uint32_t buckets : {2u, kLargest}) {
        cpu::Workers workers(2);
        std::atomic<uint64_t> asked{0};
        auto source = [&](uint64_t first, uint32_t rows, Tuple* tuples) {
            const bool again = asked.fetch_add(rows) >= kRows;
            for (uint32_t i = 0; i < rows; i++)
                tuples[i] = {again ? buckets - 1 : 0, static_cast<uint32_t>(first + i)};
            return rows;
        };
        auto bucket = [](const Tuple& tuple) { return tuple.bucket; };
        cpu::HostArray memory;
        ASSERT_OK(memory.allocate(nullptr, (kRows + kBehind) * sizeof(Tuple)));
        Tuple* out = memory.as<Tuple>();
        std::fill_n(out + kRows, kBehind, kUntouched);
        std::vector<uint64_t> starts;
        ASSERT_OK(cpu::partition(workers, nullptr, kRows, buckets, source, bucket, out, &starts));
        EXPECT_EQ(starts[1], kRows);
        for (uint64_t i = kRows; i < kRows + kBehind; i++) ASSERT_EQ(out[i].bucket, kUntouched.bucket);
    }
}

// A sink whose first two pages are the same memory: data that is written to the second one shows up among the
// offsets in the first, as if a client wrote there.
TEST(CpuEngine, OffsetsThatChangeInTheSinkAreNotRead) {
    constexpr size_t kPage = 4096, kSinkBytes = 16 * kPage;
    constexpr uint64_t kRows = 64;
    TablePair tables;
    tables.probe.columns = {number_column(kRows)};
    tables.build.columns = {number_column(kRows), {bytes_column(), {}}};
    for (uint64_t row = 0; row < kRows; row++) {
        std::string value;
        for (int i = 0; i < 32; i++) value += *value_of(uint64_t{0xfffffff0} << 32);
        tables.build.columns[1].values.emplace_back(value);
    }
    JoinSpec spec = make_spec(JoinKind::Inner, Algorithm::Hash, tables.probe, tables.build);
    add_equality(spec, 0, 0);
    spec.build[1].nullable = 0;
    spec.outputs = 1;
    spec.output[0] = 1;

    int file = memfd_create("sink", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, kSinkBytes), 0);
    void* sink = mmap(nullptr, kSinkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ASSERT_NE(sink, MAP_FAILED);
    auto* memory = static_cast<std::byte*>(sink);
    ASSERT_NE(mmap(memory + kPage, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0),
              MAP_FAILED);

    std::unique_ptr<Join> join;
    Ledger ledger(1u << 30);
    std::unique_ptr<Engine> engine = make_cpu_engine(1);
    ASSERT_OK(engine->open(spec, {&ledger, nullptr, nullptr}, &join));
    append_all(*join, tables.build, kRows);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    OwnedBatch batch(tables.probe, 0, kRows);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->probe(batch.view(), &cursor));
    ResultBatch result;
    ASSERT_OK(cursor->next({memory, kSinkBytes, Memory::Host}, &result));
    EXPECT_EQ(result.rows, kRows);
    EXPECT_EQ(std::string(reinterpret_cast<char*>(memory) + result.columns[0].data + 20 * 256, 256),
              *tables.build.columns[1].values[20]);
    munmap(sink, kSinkBytes);
    close(file);
}

// Reserved address space is not used up by joins whose columns might grow large. (ThreadSanitizer leaves too
// little of it.)
#ifndef __SANITIZE_THREAD__
TEST(CpuEngine, ManyJoinsOfManyColumnsAreOpenAtOnce) {
    Ledger ledger(uint64_t{1} << 39);
    JoinSpec spec{};
    spec.algorithm = Algorithm::NestedLoop;
    spec.build_columns = 20;
    std::fill_n(spec.build, spec.build_columns, bytes_column());
    std::unique_ptr<Engine> engine = make_cpu_engine(1);
    std::vector<std::unique_ptr<Join>> joins(100);
    for (auto& join : joins) ASSERT_OK(engine->open(spec, {&ledger, nullptr, nullptr}, &join));
}
#endif

// A client may partition a join that is refused memory at seal, but not one that has given rows: whatever is
// left of the memory, what was sealed can be probed. Of several ranges the sort waits for the first batch,
// and so does what is large enough to be partitioned in memory, if batches are.
void probe_with_little_memory(const std::vector<int32_t>& widths, bool has_equality, Algorithm algorithm,
                              ResultOrder order = ResultOrder::Ascending, uint64_t probe_rows = 3000) {
    const uint64_t build_rows = order == ResultOrder::Any ? 40000 : 20000;
    constexpr uint64_t kStep = (kIsSanitized ? 256 : 64) << 10, kMost = 4 << 20;
    TablePair tables = make_band_tables(widths, probe_rows, build_rows, 0);
    if (order == ResultOrder::Any) {  // keys that have no table without hashing
        Random random(2);
        tables.build.columns[0] =
            make_column({fixed_column(ColumnType::Fixed4), 10000, true, 0}, build_rows, random);
    }
    JoinSpec spec = make_spec(JoinKind::Inner, algorithm, tables.probe, tables.build);
    if (has_equality) add_equality(spec, 0, 0);
    for (uint16_t i = has_equality; i < widths.size(); i++) add_band(spec, i);
    spec.order = order;
    spec.names_probe_rows = order == ResultOrder::Ascending;
    spec.estimated_probe_rows = build_rows;
    std::unique_ptr<Engine> engine = make_cpu_engine(1);
    OwnedBatch build(tables.build, 0, build_rows), probe(tables.probe, 0, probe_rows);
    int refused = 0, probed = 0;
    for (uint64_t bytes = kStep; bytes < kMost; bytes += kStep) {
        Ledger ledger(bytes);
        std::unique_ptr<Join> join;
        std::unique_ptr<Cursor> cursor;
        SealReport report;
        std::vector<ResultRow> rows;
        ASSERT_OK(engine->open(spec, {&ledger, nullptr, nullptr}, &join));
        if (!join->append(build.view(), 0).ok() || !join->seal(&report).ok()) {
            refused++;
            continue;
        }
        ASSERT_OK(join->probe(probe.view(), &cursor));
        drain(*cursor, spec, 1u << 20, 0, &rows);
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << "with " << bytes << " bytes";
        probed++;
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(probed, 0);
}

TEST(CpuEngine, WhatIsSealedCanBeProbedWithLittleMemory) {
    for (Algorithm algorithm : {Algorithm::Auto, Algorithm::SortMerge}) {
        probe_with_little_memory({40}, false, algorithm);
        probe_with_little_memory({5000, 40}, false, algorithm);
        probe_with_little_memory({1, 5000, 4000}, true, algorithm);
    }
    probe_with_little_memory({1}, true, Algorithm::Hash);
    for (uint64_t probe_rows : {3000, 20000})
        probe_with_little_memory({1}, true, Algorithm::Hash, ResultOrder::Any, probe_rows);
}

// A small batch has a table made, and columns laid in its order; a large one after it is partitioned, and
// names build rows by where they are stored.
TEST(CpuEngine, LargeBatchesAfterSmallOnes) {
    constexpr uint64_t kBuildRows = 40'000, kFew = 100;
    TablePair tables;
    tables.build.columns = {number_column(kBuildRows)};
    tables.probe.columns = {number_column(kBuildRows)};
    Random random(3);
    std::shuffle(tables.build.columns[0].values.begin(), tables.build.columns[0].values.end(), random);
    tables.build.columns[0].spec.nullable = 1;  // so that it does not ride along
    JoinSpec spec = make_spec(JoinKind::Inner, Algorithm::Hash, tables.probe, tables.build);
    add_equality(spec, 0, 0);
    spec.order = ResultOrder::Any;
    spec.names_probe_rows = 0;
    spec.outputs = spec.carried = 1;
    spec.output[0] = spec.carry[0] = 0;
    spec.estimated_probe_rows = kBuildRows;
    Ledger ledger(1u << 30);
    std::unique_ptr<Engine> engine = make_cpu_engine(2);
    std::unique_ptr<Join> join;
    ASSERT_OK(engine->open(spec, {&ledger, nullptr, nullptr}, &join));
    append_all(*join, tables.build, kBuildRows);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    ASSERT_EQ(report.order, ResultOrder::Any);
    for (uint64_t rows : {kFew, kBuildRows, kFew}) {
        OwnedBatch batch(tables.probe, 0, rows);
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join->probe(batch.view(), &cursor));
        std::vector<ResultRow> found;
        drain(*cursor, spec, 1u << 20, 0, &found);
        std::vector<ResultRow> expected(rows, {-1, {}});
        for (uint64_t row = 0; row < rows; row++)
            for (int side = 0; side < 2; side++)
                expected[row].values.push_back(tables.probe.columns[0].values[row]);
        std::sort(found.begin(), found.end());
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(found, expected);
    }
}

// Over many keys it takes a while.
TEST(CpuEngine, CancelStopsTheMakingOfTrees) {
    Ledger ledger(1u << 30);
    std::atomic<bool> cancel{true};
    const Limits limits{&ledger, nullptr, &cancel};
    constexpr uint64_t kKeys = 1000;
    std::vector<uint64_t> even(kKeys + cpu::kTreeNode, ~uint64_t{0});
    for (uint64_t i = 0; i < kKeys; i++) even[i] = i;
    cpu::SearchTree tree;
    EXPECT_EQ(tree.build(limits, even.data(), kKeys).fault, Fault::Cancelled);
    cpu::GroupSearch groups;
    EXPECT_EQ(groups.build(limits, even.data(), kKeys).fault, Fault::Cancelled);
    cpu::MaximumTree maximums;
    EXPECT_EQ(maximums.build(limits, even.data(), kKeys).fault, Fault::Cancelled);
}

}  // namespace
}  // namespace gpujoin::test
