// Conformance of the engines: equality joins of every kind, with every algorithm and type of key, at the
// sizes where code tends to break, against the reference.
#include <set>

#include "engine_harness.h"
#include "engine_keys.h"

namespace gpujoin::test {
namespace {

JoinSpec equality_spec(JoinKind kind, Algorithm algorithm, const TablePair& tables, size_t keys) {
    JoinSpec spec = make_spec(kind, algorithm, tables.probe, tables.build);
    for (uint16_t i = 0; i < keys; i++) add_equality(spec, i, i);
    return spec;
}

class EqualityJoin : public EngineTest {
  protected:
    // One case in every kind of join with every algorithm, in every order of results.
    void run(const KeyCase& key, uint64_t probe_rows, uint64_t build_rows, const Pacing& pacing = {}) {
        run(key.name, make_tables(key.columns, probe_rows, build_rows, probe_rows * 31 + build_rows),
            key.columns.size(), pacing);
    }

    void run(const char* name, const TablePair& tables, size_t keys, const Pacing& pacing = {}) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(tables.probe.rows()) + " x " +
                     std::to_string(tables.build.rows()) + " rows");
        const auto candidates = equal_rows(tables.probe, tables.build, keys);
        for (JoinKind kind : kKinds) {
            for (ResultOrder order : kOrders) {
                JoinSpec spec = equality_spec(kind, Algorithm::Auto, tables, keys);
                if (order != ResultOrder::Ascending) carry_all(spec, order);
                run(spec, tables, candidates, pacing);
                if (HasFatalFailure()) return;
            }
        }
    }

    // One spec with every algorithm. candidates: the build rows that may match a probe row.
    template <typename Candidates>
    void run(const JoinSpec& spec, const TablePair& tables, const Candidates& candidates,
             const Pacing& pacing) {
        auto expected = reference_join(spec, tables.probe, tables.build, candidates);
        for (const JoinSpec& form : forms_of(spec)) {
            std::vector<ResultRow> actual;
            run_join(*engine_, form, limits(), tables.probe, tables.build, pacing, &actual);
            if (HasFatalFailure()) return;
            expect_same(expected, actual, describe(form));
        }
    }

    // The spec for each algorithm. An index searches ranges: it is asked for the same join in these words,
    // and where there are several columns also with an equality on the first one.
    static std::vector<JoinSpec> forms_of(JoinSpec spec) {
        std::vector<JoinSpec> forms;
        for (Algorithm algorithm : kAlgorithms) {
            spec.algorithm = algorithm;
            forms.push_back(algorithm == Algorithm::Index ? with_equalities_as_ranges(spec) : spec);
        }
        spec.algorithm = Algorithm::Index;
        if (spec.equalities > 1) forms.push_back(with_equalities_as_ranges(spec, 1));
        return forms;
    }
};

TEST_P(EqualityJoin, KeysOfEveryType) {
    for (const KeyCase& key : key_cases(40, 0.1)) run(key, 200, 100);
}

TEST_P(EqualityJoin, UniqueKeysOfEveryType) {
    for (const KeyCase& key : key_cases(0, 0.0))
        run(key.name, make_unique_tables(key, 100, 60), key.columns.size());
}

// One column of four bytes, whose values an engine may keep in the place of row numbers, beside keys that are
// unique or not; every value is one, even all bits of key and value.
TEST_P(EqualityJoin, OneValueOfEachRow) {
    constexpr int32_t kKeys = 300;
    const ColumnPlan key{fixed_column(ColumnType::Fixed4), kKeys, true, 0.1};
    Random random(17);
    for (int32_t copies : {1, 3}) {
        for (auto [value_of_last_key, nullable] : {std::pair{-1, false}, {5, true}, {-1, true}}) {
            TablePair tables;
            tables.probe.columns = {make_column(key, 2 * kKeys, random)};
            tables.probe.columns[0].values[7] = value_of(-1);
            tables.build.columns = {{key.spec, {}},
                                    {fixed_column(ColumnType::Fixed4, ValueOrder::Signed, nullable), {}}};
            for (int32_t i = 0; i < copies * kKeys; i += 2) {
                tables.build.columns[0].values.push_back(nth_value(key, i % kKeys));
                tables.build.columns[1].values.push_back(value_of(i % 3 ? i : -1));
            }
            tables.build.columns[0].values[20] = std::nullopt;
            tables.build.columns[0].values[11] = value_of(-1);
            tables.build.columns[1].values[11] = value_of(value_of_last_key);
            const auto candidates = equal_rows(tables.probe, tables.build, 1);
            for (JoinKind kind : kKinds) {
                JoinSpec spec = equality_spec(kind, Algorithm::Auto, tables, 1);
                spec.outputs = 1;
                spec.output[0] = 1;
                spec.estimated_probe_rows = tables.probe.rows();
                run(spec, tables, candidates, {.probe_batch = 50, .sink_bytes = 1 << 10});
            }
        }
    }
}

// Keys of every width, by their names above, with as many rows on both sides, or the next number of them.
TEST_P(EqualityJoin, AwkwardSizes) {
    const std::set<std::string> names{"4 bytes dense", "4 bytes sparse", "8 bytes sparse", "16 bytes",
                                      "bytes"};
    const std::vector<uint64_t> sizes{0, 1, 31, 32, 33, 600};
    for (const KeyCase& key : key_cases(400, 0.05)) {
        if (!names.contains(key.name)) continue;
        for (size_t i = 0; i < sizes.size(); i++) {
            run(key, sizes[i], sizes[i]);
            run(key, sizes[(i + 1) % sizes.size()], sizes[i]);
        }
    }
}

// Results name probe rows where that was asked for, whatever their order, and never else.
TEST_P(EqualityJoin, OrderAndNamesAreAskedForApart) {
    const TablePair tables = make_tables(key_cases(100, 0.05).front().columns, 300, 200, 21);
    const auto candidates = equal_rows(tables.probe, tables.build, 1);
    for (JoinKind kind : kKinds) {
        for (ResultOrder order : kOrders) {
            for (uint8_t named : {0, 1}) {
                JoinSpec spec = equality_spec(kind, Algorithm::Auto, tables, 1);
                carry_all(spec, order);
                spec.names_probe_rows = named;
                run(spec, tables, candidates, {.probe_batch = 120, .sink_bytes = 4 << 10});
                if (HasFatalFailure()) return;
            }
        }
    }
}

// Keys of which all hashes, or the bits of them that choose a place, are the same.
TEST_P(EqualityJoin, AdversarialHashes) {
    for (const CollidingKeys& keys : colliding_keys(150))
        for (bool repeated : {false, true}) run(keys.name, make_colliding_tables(keys, repeated), 1);
}

TEST_P(EqualityJoin, AllKeysEqual) {
    for (const KeyCase& key : key_cases(1, 0.0)) run(key, 70, 90, {.sink_bytes = 16 << 10});
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

GPUJOIN_FOR_EACH_ENGINE(EqualityJoin);

}  // namespace
}  // namespace gpujoin::test
