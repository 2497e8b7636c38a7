// Runs joins on an engine under test and compares with the reference. Test suites are instantiated for every
// engine of this build; where one cannot run (no CUDA device) its tests are skipped and say why.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/algorithm.h"
#include "engine/engine.h"
#include "engine/replicated/replicated_engine.h"
#include "engine/turn.h"
#include "engine_reference.h"

#if defined(GPUJOIN_CUDA) && __has_include("cuda/engine.h")
#include "cuda/engine.h"
#define GPUJOIN_TEST_CUDA
#endif

namespace gpujoin::test {

// One engine for the whole test process; nullptr with the reason where it cannot run.
struct EngineUnderTest {
    std::unique_ptr<Engine> engine;
    std::string reason;
};

inline EngineUnderTest make_engine(bool is_cuda, int device, uint64_t device_memory) {
    if (!is_cuda) return {make_cpu_engine(2), ""};
    EngineUnderTest made{nullptr, "built without the CUDA engine"};
#ifdef GPUJOIN_TEST_CUDA
    Status status = make_cuda_engine(device, device_memory, &made.engine);
    if (!status.ok()) made = {nullptr, std::string(status.message) + " " + status.detail};
#else
    (void)device, (void)device_memory;
#endif
    return made;
}

// Two engines as one: of two devices, or both of the only one.
inline EngineUnderTest make_two_engines(bool is_cuda) {
    static constexpr uint64_t kMemory = uint64_t{4} << 30;
    static std::vector<std::unique_ptr<Engine>> engines;
    static std::vector<std::unique_ptr<Ledger>> memory;
    std::vector<Replica> replicas;
    for (int device : {0, 1}) {
        EngineUnderTest one = make_engine(is_cuda, device, kMemory);
        if (!one.engine) one = make_engine(is_cuda, 0, kMemory);
        if (!one.engine) return one;
        engines.push_back(std::move(one.engine));
        memory.push_back(std::make_unique<Ledger>(kMemory));
        replicas.push_back({engines.back().get(), is_cuda ? memory.back().get() : nullptr});
    }
    return {make_replicated_engine(std::move(replicas)), ""};
}

inline EngineUnderTest& engine_named(const std::string& name) {
    static std::map<std::string, EngineUnderTest> engines;
    auto [engine, is_new] = engines.try_emplace(name);
    const bool is_cuda = name.ends_with("cuda");
    if (is_new)
        engine->second = name.starts_with("two") ? make_two_engines(is_cuda) : make_engine(is_cuda, 0, 0);
    return engine->second;
}

// A fixture for tests of any engine; the parameter is the engine's name.
class EngineTest : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        EngineUnderTest& under_test = engine_named(GetParam());
        if (!under_test.engine) GTEST_SKIP() << under_test.reason;
        engine_ = under_test.engine.get();
    }
    bool can_run(const FragmentView& fragment) {
        return !GetParam().starts_with("two") || can_be_replicated(fragment);
    }
    Limits limits() { return {&host_memory_, &device_memory_, &cancel_}; }

    Engine* engine_ = nullptr;
    Ledger host_memory_{uint64_t{4} << 30};
    Ledger device_memory_{uint64_t{4} << 30};
    std::atomic<bool> cancel_{false};
};

#define GPUJOIN_FOR_EACH_ENGINE(Suite)                                       \
    INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::Values("cpu", "cuda"), \
                             [](const auto& parameter) { return std::string(parameter.param); })

// And for two of a kind as one, which does not replicate every join.
#define GPUJOIN_FOR_EACH_ENGINE_AND_TWO(Suite)                                                      \
    INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::Values("cpu", "cuda", "two_cpu", "two_cuda"), \
                             [](const auto& parameter) { return std::string(parameter.param); })

#define ASSERT_OK(expression)                                                                               \
    do {                                                                                                    \
        Status status_ = (expression);                                                                      \
        ASSERT_TRUE(status_.ok()) << status_.sqlstate << ": " << status_.message << ". " << status_.detail; \
    } while (0)

// For threads and functions that give something back.
#define EXPECT_OK(expression)                                                                               \
    do {                                                                                                    \
        Status status_ = (expression);                                                                      \
        EXPECT_TRUE(status_.ok()) << status_.sqlstate << ": " << status_.message << ". " << status_.detail; \
    } while (0)

// How a join is run: in batches of so many rows, with sinks of so many bytes (larger where a row needs it).
struct Pacing {
    uint64_t build_batch = 700;
    uint64_t probe_batch = 900;
    uint64_t sink_bytes = 1u << 20;
};

// Reads a cursor to its end and checks what every result must keep to.
inline void drain(Cursor& cursor, const JoinSpec& spec, uint64_t sink_bytes, uint64_t first_probe_row,
                  std::vector<ResultRow>* rows) {
    // Kept for the next cursor: under ThreadSanitizer memory that comes and goes costs more than small joins
    // do.
    thread_local SinkMemory memory(sink_bytes);
    if (memory.bytes() != sink_bytes) memory = SinkMemory(sink_bytes);
    while (true) {
        ResultBatch result;
        ASSERT_OK(cursor.next(memory.sink(), &result));
        if (result.rows == 0 && !result.done && result.bytes_needed == 0) {
            ASSERT_TRUE(Turn::current()) << "no row, though one fits";
            continue;
        }
        if (result.rows == 0 && !result.done) {
            ASSERT_GT(result.bytes_needed, sink_bytes) << "no row, though one fits";
            sink_bytes = result.bytes_needed;
            memory = SinkMemory(sink_bytes);
            continue;
        }
        if (result.rows > 0) {
            ASSERT_LE(result.bytes, sink_bytes);
            ASSERT_EQ(result.columns.size(), size_t{spec.outputs} + spec.carried);
        }
        size_t before = rows->size();
        read_result(spec, memory.data(), result, first_probe_row, rows);
        for (size_t i = std::max<size_t>(before, 1); i < rows->size(); i++)
            ASSERT_LE((*rows)[i - 1].probe_row, (*rows)[i].probe_row) << "not in probe order";
        if (result.done) return;
    }
}

inline void append_all(Join& join, const Table& build, uint64_t batch_rows) {
    for (uint64_t first = 0; first < build.rows(); first += batch_rows) {
        OwnedBatch batch(build, first, std::min(batch_rows, build.rows() - first));
        ASSERT_OK(join.append(batch.view(), first));
    }
}

inline void probe_all(Join& join, const JoinSpec& spec, const Table& probe, const Pacing& pacing,
                      std::vector<ResultRow>* rows) {
    for (uint64_t first = 0; first < probe.rows(); first += pacing.probe_batch) {
        OwnedBatch batch(probe, first, std::min(pacing.probe_batch, probe.rows() - first));
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join.probe(batch.view(), &cursor));
        drain(*cursor, spec, pacing.sink_bytes, first, rows);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// The build rows that a kind of join gives after all probes, if any.
inline void scan_all(Join& join, const JoinSpec& spec, const Pacing& pacing, std::vector<ResultRow>* rows) {
    bool matched = spec.kind == JoinKind::RightSemi;
    if (!matched && spec.kind != JoinKind::Right && spec.kind != JoinKind::Full &&
        spec.kind != JoinKind::RightAnti)
        return;
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join.scan_build(matched, &cursor));
    std::vector<ResultRow> scanned;
    drain(*cursor, spec, pacing.sink_bytes, 0, &scanned);
    rows->insert(rows->end(), scanned.begin(), scanned.end());
}

// Ends the build side, and checks that the algorithm is the one that is to be tested.
inline void seal(Join& join, const JoinSpec& spec, SealReport* report) {
    ASSERT_OK(join.seal(report));
    const JoinStats stats = join.stats();
    if (can_execute(spec.algorithm, spec)) {
        EXPECT_STREQ(name_of(report->algorithm), name_of(spec.algorithm)) << "is forced";
    }
    EXPECT_EQ(stats.algorithm, report->algorithm);
}

// Runs a join from beginning to end; rows come back sorted.
inline void run_join(Engine& engine, const JoinSpec& spec, const Limits& limits, const Table& probe,
                     const Table& build, const Pacing& pacing, std::vector<ResultRow>* rows,
                     SealReport* report = nullptr) {
    ASSERT_OK(validate(spec));
    std::unique_ptr<Join> join;
    SealReport ignored;
    ASSERT_OK(engine.open(spec, limits, &join));
    append_all(*join, build, pacing.build_batch);
    seal(*join, spec, report ? report : &ignored);
    if (testing::Test::HasFatalFailure()) return;
    probe_all(*join, spec, probe, pacing, rows);
    if (testing::Test::HasFatalFailure()) return;
    scan_all(*join, spec, pacing, rows);
    std::sort(rows->begin(), rows->end());
}

inline std::string describe(const JoinSpec& spec) {
    return std::string(name_of(spec.kind)) + " join, " + name_of(spec.algorithm) +
           (spec.order == ResultOrder::Any ? ", in any order"
            : spec.carried                 ? ", carrying"
                                           : "");
}

// Compares sorted results, and shows the first difference rather than everything.
inline void expect_same(const std::vector<ResultRow>& expected, const std::vector<ResultRow>& actual,
                        const std::string& what) {
    if (expected == actual) return;
    auto [e, a] = std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end());
    ADD_FAILURE() << what << ": " << expected.size() << " rows expected, " << actual.size()
                  << " came; first difference at row " << e - expected.begin() << ", probe row "
                  << (e != expected.end() ? e->probe_row : -2) << " expected, "
                  << (a != actual.end() ? a->probe_row : -2) << " came";
}

// Candidates for the reference: all build rows.
inline auto all_rows(const Table& build) {
    return [rows = build.rows()](uint64_t) {
        std::vector<uint64_t> all(rows);
        for (uint64_t i = 0; i < rows; i++) all[i] = i;
        return all;
    };
}

// The same: the build rows whose key, columns [0, keys) of both sides, is the probe row's. NULLs are for the
// reference to see.
inline auto equal_rows(const Table& probe, const Table& build, size_t keys) {
    auto key_of = [keys](const Table& table, uint64_t row) {
        std::vector<Value> key;
        for (size_t c = 0; c < keys; c++) key.push_back(table.columns[c].values[row]);
        return key;
    };
    std::map<std::vector<Value>, size_t> groups;
    std::vector<std::vector<uint64_t>> rows;
    auto group_of = [&](const Table& table, uint64_t row) {
        const size_t group = groups.try_emplace(key_of(table, row), rows.size()).first->second;
        if (group == rows.size()) rows.emplace_back();
        return group;
    };
    for (uint64_t row = 0; row < build.rows(); row++) rows[group_of(build, row)].push_back(row);
    std::vector<size_t> groups_of_probe;
    for (uint64_t row = 0; row < probe.rows(); row++) groups_of_probe.push_back(group_of(probe, row));
    return
        [rows = std::move(rows), groups_of_probe = std::move(groups_of_probe)](
            uint64_t probe_row) -> const std::vector<uint64_t>& { return rows[groups_of_probe[probe_row]]; };
}

// The same, found once for joins of several kinds: those of the candidates that match in a spec's terms.
template <typename Candidates>
auto matching_rows(const JoinSpec& spec, const Table& probe, const Table& build,
                   const Candidates& candidates) {
    std::vector<std::vector<uint64_t>> rows(probe.rows());
    for (uint64_t row = 0; row < probe.rows(); row++)
        for (uint64_t build_row : candidates(row))
            if (rows_match(spec, probe, row, build, build_row)) rows[row].push_back(build_row);
    return [rows = std::move(rows)](uint64_t probe_row) -> const std::vector<uint64_t>& {
        return rows[probe_row];
    };
}

inline void expect_reference(Engine& engine, const JoinSpec& spec, const Limits& limits, const Table& probe,
                             const Table& build, const Pacing& pacing = {}) {
    std::vector<ResultRow> actual;
    run_join(engine, spec, limits, probe, build, pacing, &actual);
    if (testing::Test::HasFatalFailure()) return;
    expect_same(reference_join(spec, probe, build, all_rows(build)), actual, describe(spec));
}

// Every kind of join.
inline constexpr JoinKind kKinds[] = {JoinKind::Inner,     JoinKind::Left,     JoinKind::Right,
                                      JoinKind::Full,      JoinKind::Semi,     JoinKind::Anti,
                                      JoinKind::RightSemi, JoinKind::RightAnti};
inline constexpr Algorithm kAlgorithms[] = {Algorithm::Auto, Algorithm::Hash, Algorithm::SortMerge,
                                            Algorithm::Index, Algorithm::NestedLoop};

}  // namespace gpujoin::test
