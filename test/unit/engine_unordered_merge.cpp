// sort_merge with results in any order, as ResultOrder::Any allows: joins of every kind on equalities and
// ranges against the reference. Probe rows are told apart by a column that is carried along.
#include "engine_harness.h"
#include "engine_tables.h"

namespace gpujoin::test {
namespace {

// The columns that come back of each side: one without NULLs, whose values can ride along, or several.
enum class Wanted : uint8_t { Number, NumberAndKey };

// Results as if carried columns were columns of the build side.
JoinSpec with_carried_outputs(JoinSpec spec) {
    for (uint16_t i = 0; i < spec.carried; i++) {
        spec.output[spec.outputs++] = spec.build_columns;
        spec.build[spec.build_columns++] = spec.probe[spec.carry[i]];
    }
    spec.carried = 0;
    return spec;
}

class UnorderedMerge : public EngineTest {
  protected:
    // Probe columns: those of the plans, then a number. Build columns: the same, then a text.
    static TablePair tables_of(const std::vector<ColumnPlan>& plans, uint64_t probe_rows,
                               uint64_t build_rows) {
        TablePair tables = make_tables(plans, probe_rows, build_rows, probe_rows * 31 + build_rows);
        tables.probe.columns.push_back(number_column(probe_rows));
        return tables;
    }

    static JoinSpec spec_of(const TablePair& tables, Wanted wanted) {
        JoinSpec spec = make_spec(JoinKind::Inner, Algorithm::SortMerge, tables.probe, tables.build);
        spec.order = ResultOrder::Any;
        spec.names_probe_rows = 0;
        auto number = static_cast<uint16_t>(spec.probe_columns - 1);
        spec.outputs = 0;
        spec.output[spec.outputs++] = number;
        spec.carry[spec.carried++] = number;
        if (wanted == Wanted::Number) return spec;
        spec.output[spec.outputs++] = 0;
        spec.output[spec.outputs++] = static_cast<uint16_t>(number + 1);
        spec.carry[spec.carried++] = 0;
        return spec;
    }

    template <typename Candidates>
    static std::vector<ResultRow> expected_rows(const JoinSpec& spec, const TablePair& tables,
                                                const Candidates& candidates) {
        JoinSpec ordered = spec;
        ordered.order = ResultOrder::Ascending;
        ordered.names_probe_rows = 1;
        ordered.carried = 0;
        auto rows = reference_join(ordered, tables.probe, tables.build, candidates);
        for (ResultRow& row : rows) {
            for (uint16_t i = 0; i < spec.carried; i++) {
                const Column& column = tables.probe.columns[spec.carry[i]];
                row.values.push_back(row.probe_row < 0 ? std::nullopt
                                                       : column.values[static_cast<size_t>(row.probe_row)]);
            }
            row.probe_row = -1;
        }
        std::sort(rows.begin(), rows.end());
        return rows;
    }

    void run(JoinSpec spec, const TablePair& tables, const Pacing& pacing) {
        const auto matches = matching_rows(spec, tables.probe, tables.build, all_rows(tables.build));
        for (JoinKind kind : kKinds) {
            spec.kind = kind;
            ASSERT_OK(validate(spec));
            std::unique_ptr<Join> join;
            ASSERT_OK(engine_->open(spec, limits(), &join));
            append_all(*join, tables.build, pacing.build_batch);
            SealReport report;
            ASSERT_OK(join->seal(&report));
            ASSERT_EQ(report.algorithm, Algorithm::SortMerge);
            JoinSpec read = with_carried_outputs(spec);
            std::vector<ResultRow> rows;
            probe_all(*join, read, tables.probe, pacing, &rows);
            if (HasFatalFailure()) return;
            scan_all(*join, read, pacing, &rows);
            for (ResultRow& row : rows) row.probe_row = -1;
            std::sort(rows.begin(), rows.end());
            expect_same(expected_rows(spec, tables, matches), rows, describe(spec));
        }
    }

    void run_equality(const std::vector<ColumnPlan>& plans, uint64_t probe_rows, uint64_t build_rows,
                      const Pacing& pacing = {}) {
        SCOPED_TRACE(std::to_string(probe_rows) + " x " + std::to_string(build_rows) + " rows");
        TablePair tables = tables_of(plans, probe_rows, build_rows);
        for (Wanted wanted : {Wanted::Number, Wanted::NumberAndKey}) {
            JoinSpec spec = spec_of(tables, wanted);
            for (uint16_t i = 0; i < plans.size(); i++) add_equality(spec, i, i);
            run(spec, tables, pacing);
        }
    }
};

ColumnPlan key_plan(ColumnType type, uint64_t distinct, double nulls = 0.1, bool spread = false,
                    ValueOrder order = ValueOrder::Signed) {
    return {fixed_column(type, order, nulls > 0), distinct, spread, nulls};
}

TEST_P(UnorderedMerge, KeysOfEveryWidth) {
    for (double nulls : {0.0, 0.1}) {
        for (uint64_t distinct : {uint64_t{40}, uint64_t{1} << 30}) {
            run_equality({key_plan(ColumnType::Fixed1, distinct, nulls)}, 200, 100);
            run_equality({key_plan(ColumnType::Fixed2, distinct, nulls)}, 200, 100);
            run_equality({key_plan(ColumnType::Fixed4, distinct, nulls, true)}, 200, 100);
            run_equality({key_plan(ColumnType::Fixed8, distinct, nulls, true)}, 200, 100);
            run_equality({key_plan(ColumnType::Fixed8, distinct, nulls, false, ValueOrder::Float)}, 200, 100);
            run_equality({key_plan(ColumnType::Fixed4, 7, nulls), key_plan(ColumnType::Fixed2, 5, nulls)},
                         200, 100);
            run_equality({key_plan(ColumnType::Fixed2, 7, nulls), key_plan(ColumnType::Fixed2, 5, nulls)},
                         200, 100);
        }
    }
}

// Keys that are sorted by a hash, and tested: results may come in probe order then.
TEST_P(UnorderedMerge, KeysThatAreTested) {
    run_equality({key_plan(ColumnType::Fixed16, 40, 0.1, true, ValueOrder::Bytes)}, 100, 60);
    run_equality({{bytes_column(), 40, true, 0.1}}, 100, 60);
}

TEST_P(UnorderedMerge, AwkwardSizes) {
    for (uint64_t build_rows : {0, 1, 31, 32, 33, 1000}) {
        for (uint64_t probe_rows : {0, 1, 31, 32, 33, 1000})
            run_equality({key_plan(ColumnType::Fixed4, 60, 0.05)}, probe_rows, build_rows,
                         {.build_batch = 400, .probe_batch = 2000});
    }
}

// More pairs than one block of the device writes, cut into sinks of several sizes.
TEST_P(UnorderedMerge, AllKeysEqual) {
    for (uint64_t sink_bytes : {4096, 1 << 20})
        run_equality({key_plan(ColumnType::Fixed4, 1, 0.0)}, 300, 200, {.sink_bytes = sink_bytes});
    run_equality({key_plan(ColumnType::Fixed8, 1, 0.02)}, 70, 300, {.sink_bytes = 100'000});
}

TEST_P(UnorderedMerge, AllKeysNull) {
    run_equality({key_plan(ColumnType::Fixed4, 5, 1.0)}, 50, 40);
    run_equality({key_plan(ColumnType::Fixed8, 5, 1.0)}, 3000, 1);
}

TEST_P(UnorderedMerge, TinySinks) {
    for (uint64_t bytes : {0, 64, 512, 1000})
        run_equality({key_plan(ColumnType::Fixed4, 10)}, 60, 80, {.sink_bytes = bytes});
}

// Few probe rows, each searched among many build rows; and the other way round.
TEST_P(UnorderedMerge, SidesOfUnequalSize) {
    run_equality({key_plan(ColumnType::Fixed4, 3000)}, 20, 5000, {.build_batch = 5000});
    run_equality({key_plan(ColumnType::Fixed8, 3000)}, 5000, 20, {.probe_batch = 5000});
}

TEST_P(UnorderedMerge, Ranges) {
    using enum Comparison;
    for (ColumnType type : {ColumnType::Fixed1, ColumnType::Fixed4, ColumnType::Fixed8}) {
        for (ValueOrder order : {ValueOrder::Signed, ValueOrder::Unsigned}) {
            for (double nulls : {0.0, 0.1}) {
                ColumnPlan plan = key_plan(type, 100, nulls, false, order);
                TablePair tables = tables_of({plan, plan}, 120, 90);
                for (Comparison comparison : {Less, LessEqual, Greater, GreaterEqual}) {
                    JoinSpec spec = spec_of(tables, Wanted::Number);
                    add_range(spec, 0, comparison, 1);
                    run(spec, tables, {.sink_bytes = 20'000});
                }
                JoinSpec band = spec_of(tables, Wanted::NumberAndKey);
                add_range(band, 0, LessEqual, 1);
                add_range(band, 1, Greater, 1);
                run(band, tables, {});
                JoinSpec point = spec_of(tables, Wanted::Number);
                add_range(point, 0, GreaterEqual, 1);
                add_range(point, 0, LessEqual, 1);
                run(point, tables, {});
            }
        }
    }
}

TEST_P(UnorderedMerge, RangesOfFloats) {
    ColumnPlan plan = key_plan(ColumnType::Fixed4, 50, 0.1, false, ValueOrder::Float);
    TablePair tables = tables_of({plan}, 80, 70);
    JoinSpec spec = spec_of(tables, Wanted::Number);
    add_range(spec, 0, Comparison::Less, 0);
    run(spec, tables, {});
}

TEST_P(UnorderedMerge, CancelledBetweenResults) {
    TablePair tables = tables_of({key_plan(ColumnType::Fixed4, 1, 0.0)}, 300, 300);
    JoinSpec spec = spec_of(tables, Wanted::Number);
    add_equality(spec, 0, 0);
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(spec, limits(), &join));
    append_all(*join, tables.build, 300);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    OwnedBatch batch(tables.probe, 0, 300);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->probe(batch.view(), &cursor));
    std::vector<std::byte> sink(8192);
    ResultBatch result;
    ASSERT_OK(cursor->next({sink.data(), sink.size(), Memory::Host}, &result));
    EXPECT_GT(result.rows, 0u);
    EXPECT_FALSE(result.done);
    cancel_ = true;
    EXPECT_EQ(cursor->next({sink.data(), sink.size(), Memory::Host}, &result).fault, Fault::Cancelled);
    cancel_ = false;
}

// With less memory than it takes a call fails, and in the end everything has been given back.
TEST_P(UnorderedMerge, TooLittleMemory) {
    TablePair tables = tables_of({key_plan(ColumnType::Fixed4, 500)}, 3000, 2000);
    JoinSpec spec = spec_of(tables, Wanted::Number);
    spec.kind = JoinKind::Full;
    add_equality(spec, 0, 0);
    OwnedBatch build(tables.build, 0, tables.build.rows());
    OwnedBatch probe(tables.probe, 0, tables.probe.rows());
    std::vector<std::byte> sink(1 << 20);
    auto run_with = [&](Ledger* memory) -> Status {
        std::unique_ptr<Join> join;
        SealReport report;
        GPUJOIN_RETURN_IF_FAILED(engine_->open(spec, {memory, memory, &cancel_}, &join));
        GPUJOIN_RETURN_IF_FAILED(join->append(build.view(), 0));
        GPUJOIN_RETURN_IF_FAILED(join->seal(&report));
        std::unique_ptr<Cursor> cursor;
        GPUJOIN_RETURN_IF_FAILED(join->probe(probe.view(), &cursor));
        ResultBatch result;
        while (!result.done)
            GPUJOIN_RETURN_IF_FAILED(cursor->next({sink.data(), sink.size(), Memory::Host}, &result));
        return {};
    };
    bool has_failed = false, has_succeeded = false;
    for (uint64_t limit = 16 << 10; !has_succeeded && limit < uint64_t{1} << 32; limit += limit / 4) {
        Ledger memory(limit);
        Status status = run_with(&memory);
        has_succeeded = status.ok();
        has_failed |= !status.ok();
        if (!status.ok()) {
            EXPECT_STREQ(status.sqlstate, "53200") << status.message;
        }
        EXPECT_EQ(memory.used(), 0u);
    }
    EXPECT_TRUE(has_failed);
    EXPECT_TRUE(has_succeeded);
}

GPUJOIN_FOR_EACH_ENGINE(UnorderedMerge);

}  // namespace
}  // namespace gpujoin::test
