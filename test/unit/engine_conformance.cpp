// Conformance of the engines: equality joins of every kind, with every algorithm and type of key, at the
// sizes where code tends to break, against the reference.
#include <map>

#include "engine_harness.h"
#include "engine_tables.h"

namespace gpujoin::test {
namespace {

struct KeyCase {
    const char* name;
    std::vector<ColumnPlan> columns;
};

// Keys of every width, packed and hashed, dense and sparse.
std::vector<KeyCase> key_cases(uint64_t distinct, double nulls) {
    auto fixed = [&](ColumnType type, bool spread, ValueOrder order = ValueOrder::Signed) {
        return ColumnPlan{fixed_column(type, order), distinct, spread, nulls};
    };
    ColumnPlan bytes{bytes_column(), distinct, true, nulls};
    ColumnPlan few{bytes_column(), 3, false, nulls};
    return {
        {"1 byte", {fixed(ColumnType::Fixed1, false)}},
        {"2 bytes", {fixed(ColumnType::Fixed2, false, ValueOrder::Unsigned)}},
        {"4 bytes dense", {fixed(ColumnType::Fixed4, false)}},
        {"4 bytes sparse", {fixed(ColumnType::Fixed4, true)}},
        {"8 bytes dense", {fixed(ColumnType::Fixed8, false)}},
        {"8 bytes sparse", {fixed(ColumnType::Fixed8, true)}},
        {"double", {fixed(ColumnType::Fixed8, false, ValueOrder::Float)}},
        {"16 bytes", {fixed(ColumnType::Fixed16, true, ValueOrder::Bytes)}},
        {"bytes", {bytes}},
        {"4 + 4 bytes", {fixed(ColumnType::Fixed4, true), fixed(ColumnType::Fixed4, false)}},
        {"8 + 2 bytes", {fixed(ColumnType::Fixed8, false), fixed(ColumnType::Fixed2, false)}},
        {"16 + 8 bytes", {fixed(ColumnType::Fixed16, true), fixed(ColumnType::Fixed8, false)}},
        {"bytes + 4 bytes", {few, fixed(ColumnType::Fixed4, false)}},
        {"1 + 4 + 1 bytes",
         {{fixed_column(ColumnType::Fixed1), 2},
          fixed(ColumnType::Fixed4, true),
          {fixed_column(ColumnType::Fixed1), 2}}},
    };
}

JoinSpec equality_spec(JoinKind kind, Algorithm algorithm, const TablePair& tables, size_t keys) {
    JoinSpec spec = make_spec(kind, algorithm, tables.probe, tables.build);
    for (uint16_t i = 0; i < keys; i++) add_equality(spec, i, i);
    return spec;
}

class EqualityJoin : public EngineTest {
  protected:
    // One case in every kind of join with every algorithm.
    void run(const KeyCase& key, uint64_t probe_rows, uint64_t build_rows, const Pacing& pacing = {}) {
        TablePair tables = make_tables(key.columns, probe_rows, build_rows, probe_rows * 31 + build_rows);
        for (JoinKind kind : kKinds) {
            JoinSpec spec = equality_spec(kind, Algorithm::Auto, tables, key.columns.size());
            auto expected = reference_join(spec, tables.probe, tables.build, all_rows(tables.build));
            for (Algorithm algorithm : kAlgorithms) {
                spec.algorithm = algorithm;
                SCOPED_TRACE(std::string(key.name) + ", " + std::to_string(probe_rows) + " x " +
                             std::to_string(build_rows) + " rows");
                std::vector<ResultRow> actual;
                run_join(*engine_, spec, limits(), tables.probe, tables.build, pacing, &actual);
                if (HasFatalFailure()) return;
                expect_same(expected, actual, describe(spec));
            }
        }
    }
};

TEST_P(EqualityJoin, KeysOfEveryType) {
    for (const KeyCase& key : key_cases(40, 0.1)) run(key, 200, 100);
}

TEST_P(EqualityJoin, UniqueKeysOfEveryType) {
    for (const KeyCase& key : key_cases(1'000'000'000, 0.0)) run(key, 100, 60);
}

TEST_P(EqualityJoin, AwkwardSizes) {
    KeyCase key{"4 bytes", {{fixed_column(ColumnType::Fixed4), 60, false, 0.05}}};
    for (uint64_t build_rows : {0, 1, 31, 32, 33, 1000})
        for (uint64_t probe_rows : {0, 1, 31, 32, 33, 1000})
            if (build_rows * probe_rows < 100'000) run(key, probe_rows, build_rows);
}

TEST_P(EqualityJoin, AllKeysEqual) {
    for (const KeyCase& key : key_cases(1, 0.0)) run(key, 70, 90, {.sink_bytes = 4096});
}

TEST_P(EqualityJoin, AllKeysNull) {
    for (const KeyCase& key : key_cases(5, 1.0)) run(key, 50, 50);
}

TEST_P(EqualityJoin, TinySinks) {
    KeyCase key{"4 bytes", {{fixed_column(ColumnType::Fixed4), 10, false, 0.1}}};
    for (uint64_t bytes : {0, 64, 512, 1000}) run(key, 60, 80, {.sink_bytes = bytes});
}

TEST_P(EqualityJoin, BuildBatchesOfOneRow) {
    KeyCase key{"bytes", {{bytes_column(), 10, false, 0.2}}};
    run(key, 40, 70, {.build_batch = 1, .probe_batch = 1});
}

// As many rows as several threads share, with duplicates: 100,000 on both sides.
TEST_P(EqualityJoin, ManyRows) {
    const uint64_t rows = 100'000;
    for (bool spread : {false, true}) {
        for (uint64_t distinct : {uint64_t{30'000}, uint64_t{1} << 40}) {
            std::vector<ColumnPlan> plans{{fixed_column(ColumnType::Fixed8), distinct, spread, 0.01}};
            TablePair tables = make_tables(plans, rows, rows, 7);
            JoinSpec spec = equality_spec(JoinKind::Full, Algorithm::Hash, tables, 1);
            spec.output[0] = 1;
            spec.outputs = 1;
            std::multimap<Value, uint64_t> lookup;
            for (uint64_t i = 0; i < rows; i++) lookup.emplace(tables.build.columns[0].values[i], i);
            auto candidates = [&](uint64_t probe_row) {
                std::vector<uint64_t> found;
                auto [first, last] = lookup.equal_range(tables.probe.columns[0].values[probe_row]);
                for (; first != last; ++first) found.push_back(first->second);
                return found;
            };
            auto expected = reference_join(spec, tables.probe, tables.build, candidates);
            for (Algorithm algorithm : {Algorithm::Hash, Algorithm::SortMerge}) {
                spec.algorithm = algorithm;
                std::vector<ResultRow> actual;
                run_join(*engine_, spec, limits(), tables.probe, tables.build, {13'000, 20'000, 300'000},
                         &actual);
                expect_same(expected, actual, describe(spec));
            }
        }
    }
}

GPUJOIN_FOR_EACH_ENGINE(EqualityJoin);

}  // namespace
}  // namespace gpujoin::test
