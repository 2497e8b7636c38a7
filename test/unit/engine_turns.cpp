// Turns: calls that are told at every look that their turn is over return or give way after little work, and
// give the same rows.
#include <algorithm>
#include <atomic>
#include <set>

#include "engine_harness.h"
#include "engine_tables.h"
#include "filter_programs.h"

namespace gpujoin::test {
namespace {

class TurnThatIsOver : public Turn {
  public:
    bool is_over() const override { return true; }
    void pass() override { passed++; }
    void step_aside(const std::function<void()>& wait) override { wait(); }
    bool is_quick() const override { return false; }
    std::atomic<uint64_t> passed{0};
};

class EngineTurns : public EngineTest {
  protected:
    Table numbers(uint64_t rows) { return {{number_column(rows)}}; }

    // A join that has something to test on every pair.
    JoinSpec spec(const Table& probe, const Table& build, JoinKind kind, Algorithm algorithm) {
        JoinSpec made = make_spec(kind, algorithm, probe, build);
        add_range(made, 0, Comparison::Less, 0);
        return made;
    }

    // Reads a cursor to its end. with_skips: leaves out the rest of each probe row that ends a result, and
    // notes it. Returns how often it was called.
    uint64_t read(Cursor& cursor, const JoinSpec& joined, std::vector<ResultRow>* rows,
                  std::set<int64_t>* skipped = nullptr) {
        SinkMemory memory(1 << 14);
        uint64_t calls = 0;
        for (ResultBatch result; !result.done; calls++) {
            EXPECT_OK(cursor.next(memory.sink(), &result));
            read_result(joined, memory.data(), result, 0, rows);
            if (HasFailure()) break;
            if (!skipped || result.rows == 0) continue;
            skipped->insert(rows->back().probe_row);
            cursor.skip(static_cast<uint32_t>(rows->back().probe_row));
        }
        return calls;
    }

    bool is_cpu() const { return GetParam() == "cpu"; }

    TurnThatIsOver turn_;
    const TurnScope scope_{&turn_};
};

TEST_P(EngineTurns, RowsComeTurnByTurn) {
    TablePair tables = make_tables({{fixed_column(ColumnType::Fixed4), 40, false, 0.05},
                                    {fixed_column(ColumnType::Fixed4), 1000, false, 0.05}},
                                   300, 400, 7);
    for (JoinKind kind : kKinds) {
        for (Algorithm algorithm : kAlgorithms) {
            JoinSpec joined = make_spec(kind, algorithm, tables.probe, tables.build);
            add_equality(joined, 0, 0);
            if (algorithm == Algorithm::Index || algorithm == Algorithm::NestedLoop)
                add_range(joined, 1, Comparison::LessEqual, 1);
            expect_reference(*engine_, joined, limits(), tables.probe, tables.build);
            if (HasFatalFailure()) return;
        }
    }
}

// No pair matches; where rows give what they have no match for, the few that come wait for the last pair.
TEST_P(EngineTurns, CursorsReturnInTheMiddleOfANestedLoop) {
    const uint64_t probe_rows = is_cpu() ? 100 : 50'000, build_rows = 100'000;
    const uint64_t least_turns = is_cpu() ? probe_rows * build_rows >> 16 : 2;
    Table probe = numbers(probe_rows), build = numbers(build_rows);
    for (Value& value : probe.columns[0].values) value = value_of(int64_t(1) << 40);
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Semi}) {
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(spec(probe, build, kind, Algorithm::NestedLoop), limits(), &join));
        append_all(*join, build, build_rows);
        SealReport report;
        ASSERT_OK(join->seal(&report));
        OwnedBatch batch(probe, 0, probe_rows);
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(join->probe(batch.view(), &cursor));
        std::vector<std::byte> sink(1 << 20);
        ResultBatch result;
        uint64_t turns = 0;
        for (; !result.done; turns++) {
            ASSERT_OK(cursor->next({sink.data(), sink.size(), Memory::Host}, &result));
            ASSERT_EQ(result.rows, 0u);
            ASSERT_EQ(result.bytes_needed, 0u);
        }
        EXPECT_GE(turns, least_turns);
    }
}

// The same where pairs match: in every kind of join, by a term and by a filter program.
TEST_P(EngineTurns, CursorsThatReturnInTheMiddleGiveAllRows) {
    const uint64_t probe_rows = is_cpu() ? 500 : 30'000, build_rows = is_cpu() ? 20'000 : 200'000;
    TablePair tables = make_tables({{fixed_column(ColumnType::Fixed4), build_rows, false, 0.05}}, probe_rows,
                                   build_rows, 11);
    auto candidates = [&, equal = equal_rows(tables.probe, tables.build, 1)](uint64_t row) {
        return tables.probe.columns[0].values[row] ? equal(row) : std::vector<uint64_t>();
    };
    OwnedBatch batch(tables.probe, 0, probe_rows);
    for (bool by_filter : {false, true}) {
        for (JoinKind kind : kKinds) {
            JoinSpec joined = make_spec(kind, Algorithm::NestedLoop, tables.probe, tables.build);
            if (by_filter)
                ProgramWriter(joined.program).probe(FilterOpcode::Load, 0).build(FilterOpcode::Equal, 0);
            else
                add_equality(joined, 0, 0);
            std::unique_ptr<Join> join;
            ASSERT_OK(engine_->open(joined, limits(), &join));
            append_all(*join, tables.build, build_rows);
            SealReport report;
            ASSERT_OK(join->seal(&report));
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(join->probe(batch.view(), &cursor));
            std::vector<ResultRow> rows;
            const uint64_t calls = read(*cursor, joined, &rows);
            EXPECT_GE(calls, rows.size() / 1000 + 2) << "turns, and sinks that are full";
            cursor.reset();
            scan_all(*join, joined, {}, &rows);
            std::sort(rows.begin(), rows.end());
            expect_same(reference_join(joined, tables.probe, tables.build, candidates), rows,
                        describe(joined) + (by_filter ? ", by filter" : ""));
        }
    }
}

// Of a probe row that is skipped nothing more comes, in later turns either, and of all others everything.
TEST_P(EngineTurns, SkippedRowsStaySkippedInLaterTurns) {
    const uint64_t probe_rows = is_cpu() ? 500 : 30'000, build_rows = is_cpu() ? 20'000 : 200'000;
    TablePair tables = make_tables({{fixed_column(ColumnType::Fixed4), build_rows / 4, false, 0.05}},
                                   probe_rows, build_rows, 12);
    JoinSpec joined = make_spec(JoinKind::Inner, Algorithm::NestedLoop, tables.probe, tables.build);
    add_equality(joined, 0, 0);
    std::unique_ptr<Join> join;
    ASSERT_OK(engine_->open(joined, limits(), &join));
    append_all(*join, tables.build, build_rows);
    SealReport report;
    ASSERT_OK(join->seal(&report));
    OwnedBatch batch(tables.probe, 0, probe_rows);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->probe(batch.view(), &cursor));
    std::vector<ResultRow> rows;
    std::set<int64_t> skipped;
    read(*cursor, joined, &rows, &skipped);
    EXPECT_GT(skipped.size(), 3u);

    auto expected =
        reference_join(joined, tables.probe, tables.build, equal_rows(tables.probe, tables.build, 1));
    std::sort(rows.begin(), rows.end());
    EXPECT_TRUE(std::includes(expected.begin(), expected.end(), rows.begin(), rows.end())) << "each row once";
    auto is_skipped = [&](const ResultRow& row) { return skipped.contains(row.probe_row); };
    std::erase_if(rows, is_skipped);
    std::erase_if(expected, is_skipped);
    expect_same(expected, rows, "rows of the others");
}

TEST_P(EngineTurns, ScansReturnInTheMiddle) {
    Table probe = numbers(1), build = numbers(100'000);
    const uint64_t copies = is_cpu() ? 1 : 90, turn_rows = is_cpu() ? 8 << 10 : 8 << 20;
    std::unique_ptr<Join> join;
    JoinSpec joined = make_spec(JoinKind::RightSemi, Algorithm::Hash, probe, build);
    add_equality(joined, 0, 0);
    ASSERT_OK(engine_->open(joined, limits(), &join));
    OwnedBatch batch(build, 0, build.rows());
    for (uint64_t i = 0; i < copies; i++) ASSERT_OK(join->append(batch.view(), i * build.rows()));
    SealReport report;
    ASSERT_OK(join->seal(&report));
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(join->scan_build(true, &cursor));
    std::vector<std::byte> sink(1 << 20);
    ResultBatch result;
    uint64_t turns = 0;
    for (; !result.done; turns++) ASSERT_OK(cursor->next({sink.data(), sink.size(), Memory::Host}, &result));
    EXPECT_GE(turns, copies * build.rows() / turn_rows + 1);
}

// What cannot return gives way, the CPU engine a few thousand rows at a time.
TEST_P(EngineTurns, SealsAndExportsGiveWay) {
    const uint64_t rows = 320'000;
    Table build = numbers(rows), probe = numbers(10);
    for (Algorithm algorithm :
         {Algorithm::Hash, Algorithm::Index, Algorithm::SortMerge, Algorithm::NestedLoop}) {
        JoinSpec joined = algorithm == Algorithm::Hash ? make_spec(JoinKind::Inner, algorithm, probe, build)
                                                       : spec(probe, build, JoinKind::Inner, algorithm);
        if (algorithm == Algorithm::Hash) add_equality(joined, 0, 0);
        std::unique_ptr<Join> join;
        ASSERT_OK(engine_->open(joined, limits(), &join));
        append_all(*join, build, 100'000);
        EXPECT_GT(turn_.passed.exchange(0), 0u) << "appends";
        SealReport report;
        ASSERT_OK(join->seal(&report));
        const uint64_t passed = turn_.passed.exchange(0);
        EXPECT_GE(passed, !is_cpu()                            ? 2
                          : algorithm == Algorithm::NestedLoop ? 1
                                                               : rows >> 15)
            << name_of(algorithm);
        ASSERT_OK(join->export_build([](const BatchView&, uint64_t) { return Status{}; }));
        EXPECT_GT(turn_.passed.exchange(0), 0u) << "exports";
    }
}

GPUJOIN_FOR_EACH_ENGINE(EngineTurns);

}  // namespace
}  // namespace gpujoin::test
