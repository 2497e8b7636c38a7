// Conformance of the engines: joins with filter programs, alone and with terms beside them, in every kind of
// join with every algorithm, against the reference.
#include <functional>

#include "engine_harness.h"
#include "engine_tables.h"
#include "filter_programs.h"

namespace gpujoin::test {
namespace {

using Opcode = FilterOpcode;
using Type = FilterType;
using Number = std::optional<int64_t>;

// An integer column's value.
Number number_at(const Column& column, uint64_t row) {
    const Value& value = column.values[row];
    if (!value) return std::nullopt;
    int64_t number = 0;
    std::memcpy(&number, value->data(), value->size());
    uint32_t unused = 64 - 8 * static_cast<uint32_t>(value->size());
    return number << unused >> unused;
}

class FilterJoin : public EngineTest {
  protected:
    // matches: the program's condition for the numbers of the first two columns of both sides.
    using Condition = std::function<bool(Number, Number, Number, Number)>;

    void run(JoinSpec spec, const TablePair& tables, const Condition& matches, const Pacing& pacing = {}) {
        auto candidates = [&](uint64_t probe_row) {
            std::vector<uint64_t> rows;
            for (uint64_t row = 0; row < tables.build.rows(); row++)
                if (matches(number_at(tables.probe.columns[0], probe_row),
                            number_at(tables.probe.columns[1], probe_row),
                            number_at(tables.build.columns[0], row), number_at(tables.build.columns[1], row)))
                    rows.push_back(row);
            return rows;
        };
        const auto rows_of = matching_rows(spec, tables.probe, tables.build, candidates);
        for (JoinKind kind : kKinds) {
            spec.kind = kind;
            auto expected = reference_join(spec, tables.probe, tables.build, rows_of);
            for (Algorithm algorithm : kAlgorithms) {
                spec.algorithm = algorithm;
                std::vector<ResultRow> actual;
                run_join(*engine_, spec, limits(), tables.probe, tables.build, pacing, &actual);
                if (HasFatalFailure()) return;
                expect_same(expected, actual, describe(spec));
            }
        }
    }
};

TablePair two_columns(uint64_t probe_rows, uint64_t build_rows, uint64_t distinct, double nulls,
                      uint64_t seed) {
    return make_tables({{fixed_column(ColumnType::Fixed4), distinct, false, nulls},
                        {fixed_column(ColumnType::Fixed8), distinct, false, nulls}},
                       probe_rows, build_rows, seed);
}

JoinSpec spec_of(const TablePair& tables) {
    return make_spec(JoinKind::Inner, Algorithm::Auto, tables.probe, tables.build);
}

// probe[0] = build[0] OR probe[1] = build[1]: nothing can be undecided, so that the engine decides every
// kind.
void add_decided_program(JoinSpec& spec) {
    ProgramWriter(spec.program)
        .probe(Opcode::Load, 0)
        .build(Opcode::Equal, 0)
        .step(Opcode::Push)
        .probe(Opcode::Load, 1)
        .build(Opcode::Equal, 1)
        .step(Opcode::Or);
}
bool decided_condition(Number a, Number b, Number c, Number d) {
    return (a && c && *a == *c) || (b && d && *b == *d);
}

TEST_P(FilterJoin, AloneInEveryKind) {
    for (auto [probe_rows, build_rows] :
         {std::pair{0, 5}, {5, 0}, {1, 1}, {31, 17}, {33, 64}, {300, 65}, {70, 5000}}) {
        for (double nulls : {0.0, 0.2}) {
            TablePair tables = two_columns(probe_rows, build_rows, 400, nulls, probe_rows + build_rows);
            JoinSpec spec = spec_of(tables);
            add_decided_program(spec);
            run(spec, tables, decided_condition);
        }
    }
}

TEST_P(FilterJoin, BesideTerms) {
    TablePair tables = two_columns(150, 220, 12, 0.1, 3);
    JoinSpec equal = spec_of(tables);
    add_equality(equal, 0, 0);
    add_decided_program(equal);
    equal.program.step[1].opcode = Opcode::NotEqual;
    run(equal, tables,
        [](Number a, Number b, Number c, Number d) { return a && c && *a == *c && b && d && *b == *d; });
    JoinSpec ranged = spec_of(tables);
    add_range(ranged, 0, Comparison::LessEqual, 0);
    add_decided_program(ranged);
    run(ranged, tables, [](Number a, Number b, Number c, Number d) {
        return a && c && *a <= *c && decided_condition(a, b, c, d);
    });
    JoinSpec unequal = spec_of(tables);
    add_filter(unequal, 0, Comparison::NotEqual, 0);
    add_decided_program(unequal);
    run(unequal, tables, [](Number a, Number b, Number c, Number d) {
        return a && c && *a != *c && decided_condition(a, b, c, d);
    });
}

TEST_P(FilterJoin, TinySinksAndBatches) {
    TablePair tables = two_columns(120, 90, 20, 0.1, 5);
    JoinSpec spec = spec_of(tables);
    add_decided_program(spec);
    run(spec, tables, decided_condition, {.build_batch = 7, .probe_batch = 11, .sink_bytes = 512});
}

// All columns that a program may read.
TEST_P(FilterJoin, ColumnsOfEveryType) {
    const std::pair<ColumnSpec, bool> columns[] = {
        {fixed_column(ColumnType::Fixed1), false},
        {fixed_column(ColumnType::Fixed1, ValueOrder::Unsigned), false},
        {fixed_column(ColumnType::Fixed2), false},
        {fixed_column(ColumnType::Fixed2, ValueOrder::Unsigned), false},
        {fixed_column(ColumnType::Fixed4), false},
        {fixed_column(ColumnType::Fixed4, ValueOrder::Unsigned), false},
        {fixed_column(ColumnType::Fixed8), false},
        {fixed_column(ColumnType::Fixed4, ValueOrder::Float), true},
        {fixed_column(ColumnType::Fixed8, ValueOrder::Float), true},
    };
    for (const auto& [column, is_float] : columns) {
        TablePair tables = make_tables({{column, 300, column.type >= ColumnType::Fixed4, 0.1}}, 90, 140, 8);
        JoinSpec ranged = spec_of(tables);
        JoinSpec filtered = ranged;
        add_range(ranged, 0, Comparison::Less, 0);
        Type type = is_float ? Type::Float64 : Type::Int64;
        ProgramWriter(filtered.program).probe(Opcode::Load, 0, type).build(Opcode::Less, 0, type);
        for (JoinKind kind : {JoinKind::Inner, JoinKind::Full, JoinKind::Anti}) {
            ranged.kind = filtered.kind = kind;
            std::vector<ResultRow> actual;
            run_join(*engine_, filtered, limits(), tables.probe, tables.build, {}, &actual);
            if (HasFatalFailure()) return;
            expect_same(reference_join(ranged, tables.probe, tables.build, all_rows(tables.build)), actual,
                        describe(filtered));
        }
    }
}

// Reads a probe batch's results; how many of them said that pairs may be undecided.
std::vector<ResultRow> pairs_of(Engine& engine, const JoinSpec& spec, const Limits& limits,
                                const TablePair& tables, bool* undecided) {
    std::vector<ResultRow> rows;
    *undecided = false;
    auto read = [&] {
        std::unique_ptr<Join> join;
        SealReport report;
        ASSERT_OK(engine.open(spec, limits, &join));
        append_all(*join, tables.build, 1000);
        ASSERT_OK(join->seal(&report));
        OwnedBatch batch(tables.probe, 0, tables.probe.rows());
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join->probe(batch.view(), &cursor));
        alignas(64) static std::byte sink[1 << 16];
        ResultBatch result;
        while (!result.done) {
            ASSERT_OK(cursor->next({sink, sizeof sink, Memory::Host}, &result));
            read_result(spec, sink, result, 0, &rows);
            *undecided |= result.undecided;
        }
    };
    read();
    std::sort(rows.begin(), rows.end());
    return rows;
}

// 100 / (probe[1] - build[1]) > 9: a pair with equal values is undecided, and comes like those that match.
TEST_P(FilterJoin, UndecidedPairsComeBack) {
    for (uint64_t distinct : {40, 4000}) {
        TablePair tables = two_columns(200, 300, distinct, 0.1, 17);
        JoinSpec spec = spec_of(tables);
        ProgramWriter(spec.program)
            .constant(Opcode::Load, int64_t{100})
            .step(Opcode::Push)
            .probe(Opcode::Load, 1)
            .build(Opcode::Subtract, 1)
            .step(Opcode::Divide)
            .constant(Opcode::Greater, int64_t{9});
        auto candidates = [&](bool with_undecided) {
            return [&tables, with_undecided](uint64_t probe_row) {
                std::vector<uint64_t> rows;
                for (uint64_t row = 0; row < tables.build.rows(); row++) {
                    Number a = number_at(tables.probe.columns[1], probe_row),
                           b = number_at(tables.build.columns[1], row);
                    if (a && b && (*a == *b ? with_undecided : 100 / (*a - *b) > 9)) rows.push_back(row);
                }
                return rows;
            };
        };
        auto expected = reference_join(spec, tables.probe, tables.build, candidates(true));
        bool some = expected != reference_join(spec, tables.probe, tables.build, candidates(false));
        for (JoinKind kind : kKinds) {
            for (Algorithm algorithm : {Algorithm::Auto, Algorithm::NestedLoop}) {
                spec.kind = kind;
                spec.algorithm = algorithm;
                spec.client_decides = kind != JoinKind::Inner;
                ASSERT_OK(validate(spec));
                bool undecided = false;
                expect_same(expected, pairs_of(*engine_, spec, limits(), tables, &undecided), describe(spec));
                if (HasFatalFailure()) return;
                EXPECT_EQ(some, undecided) << describe(spec);
            }
        }
    }
}

// (p0 - b0) * (p0 - b0) + (p1 - b1) * (p1 - b1) <= 50 AND NOT (p0 IS NULL), over many rows and tiles.
TEST_P(FilterJoin, ManyPairs) {
    TablePair tables = two_columns(3000, 9001, 3000, 0.02, 23);
    JoinSpec spec = spec_of(tables);
    spec.algorithm = Algorithm::NestedLoop;
    ProgramWriter writer(spec.program);
    for (uint16_t column : {0, 1}) {
        if (column == 1) writer.step(Opcode::Push);
        writer.probe(Opcode::Load, column).build(Opcode::Subtract, column).step(Opcode::Push);
        writer.probe(Opcode::Load, column).build(Opcode::Subtract, column).step(Opcode::Multiply);
    }
    writer.step(Opcode::Add).constant(Opcode::LessEqual, int64_t{50}).step(Opcode::Push);
    writer.probe(Opcode::Load, 0).step(Opcode::IsNull).step(Opcode::Not).step(Opcode::And);
    auto candidates = [&](uint64_t probe_row) {
        std::vector<uint64_t> rows;
        Number a = number_at(tables.probe.columns[0], probe_row),
               b = number_at(tables.probe.columns[1], probe_row);
        for (uint64_t row = 0; a && b && row < tables.build.rows(); row++) {
            Number c = number_at(tables.build.columns[0], row), d = number_at(tables.build.columns[1], row);
            if (c && d && (*a - *c) * (*a - *c) + (*b - *d) * (*b - *d) <= 50) rows.push_back(row);
        }
        return rows;
    };
    std::vector<ResultRow> actual;
    SealReport report;
    run_join(*engine_, spec, limits(), tables.probe, tables.build, {}, &actual, &report);
    expect_same(reference_join(spec, tables.probe, tables.build, candidates), actual, describe(spec));
    EXPECT_EQ(report.algorithm, Algorithm::NestedLoop);
}

GPUJOIN_FOR_EACH_ENGINE(FilterJoin);

}  // namespace
}  // namespace gpujoin::test
