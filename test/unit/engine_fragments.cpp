// Fragments whose sink is the client: one stage gives what the join gives, and chains of stages what the
// joins give one after the other.
#include <set>

#include "engine_fragment_tables.h"

namespace gpujoin::test {
namespace {

constexpr auto source_column = TestFragment::of_source;

class Fragments : public FragmentTest {};

// Where the only join's results are the sink's, they are what they would be without a fragment.
TEST_P(Fragments, OneStageIsItsJoin) {
    TablePair tables = make_tables({integers(40)}, 500, 300, 1);
    for (JoinKind kind : kKinds) {
        TestFragment fragment(tables.probe);
        fragment.join(kind, tables.build, {source_column(0)});
        const JoinSpec& spec = fragment.stage(0).join;
        if (!can_run(fragment.view())) continue;
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        std::vector<ResultRow> rows;
        OwnedBatch batch(tables.probe, 0, tables.probe.rows());
        for (int round = 0; round < 2; round++) {
            rows.clear();
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(opened->run(batch.view(), &cursor));
            drain(*cursor, spec, 10'000, 0, &rows);
            cursor.reset();
            scan_all(opened->join(0), spec, {}, &rows);
            std::sort(rows.begin(), rows.end());
            expect_same(reference_join(spec, tables.probe, tables.build, all_rows(tables.build)), rows,
                        describe(spec));
            ASSERT_OK(opened->rewind());
        }
        std::unique_ptr<Cursor> cursor;
        EXPECT_STREQ(opened->flush(&cursor).sqlstate, "08P01");
    }
}

// Each kind behind each other kind, with keys that come several times and keys that are NULL.
TEST_P(Fragments, TwoStagesOfAllKinds) {
    const JoinKind kinds[] = {JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti};
    Table source = make_table({integers(60), integers(50), texts(20)}, 700, 2);
    for (JoinKind first : kinds) {
        for (JoinKind second : kinds) {
            TestFragment fragment(source);
            fragment.join(first, make_build({integers(60), texts(9)}, 80, 3), {source_column(0)})
                .join(second, make_build({integers(50), integers(7)}, 90, 4), {source_column(1)})
                .input(source_column(2))
                .input({0, 1})
                .input({0, 2})
                .input({1, 1})
                .input({1, 2});
            expect_rows(fragment, {}, std::string(name_of(first)) + ", " + name_of(second));
            if (HasFatalFailure()) return;
        }
    }
}

// Keys that are outputs of earlier stages, next to each other and far apart, integers and texts.
TEST_P(Fragments, StagesThatLookUpWhatOthersFound) {
    Table source = make_table({integers(30), texts(10), integers(40)}, 900, 5);
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left}) {
        TestFragment fragment(source);
        fragment.join(kind, make_build({integers(30), texts(12), integers(25)}, 60, 6), {source_column(0)})
            .join(kind, make_build({texts(12), integers(20)}, 30, 7), {{0, 1}})
            .join(kind, make_build({integers(25), integers(20), texts(30)}, 400, 8), {{0, 2}, {1, 1}})
            .join(JoinKind::Semi, make_build({integers(40)}, 30, 9), {source_column(2)})
            .input({2, 2})
            .input({0, 3})
            .input(source_column(1))
            .input({1, 2})
            .input({0, 1})
            .input({2, 3});
        expect_rows(fragment, {}, name_of(kind));
        if (HasFatalFailure()) return;
    }
}

// Sinks for a row or so, and rows that are wider than the sink.
TEST_P(Fragments, SinksOfEverySize) {
    Table source = make_table({integers(20), texts(30)}, 100, 10);
    TestFragment fragment(source);
    fragment.join(JoinKind::Left, make_build({integers(20), texts(100)}, 50, 11), {source_column(0)})
        .join(JoinKind::Inner, make_build({texts(30), texts(40)}, 60, 12), {source_column(1)})
        .input(source_column(1))
        .input({0, 1})
        .input({1, 1});
    for (uint64_t bytes : {64, 256, 500, 1024, 4096, 100'000})
        expect_rows(fragment, {.sink_bytes = bytes}, std::to_string(bytes) + " bytes");
}

// Nothing to put out but the names of rows; no columns on either side.
TEST_P(Fragments, RowsWithoutInputs) {
    TestFragment fragment(make_table({integers(20)}, 300, 13));
    fragment.join(JoinKind::Inner, make_build({integers(20)}, 40, 14), {source_column(0)})
        .join(JoinKind::Anti, make_build({integers(20)}, 10, 15), {source_column(0)});
    expect_rows(fragment, {}, "no inputs");
    TestFragment cross(make_table({integers(20)}, 30, 13));
    cross.join(JoinKind::Inner, make_build({}, 5, 0), {}).join(JoinKind::Left, make_build({}, 0, 0), {});
    expect_rows(cross, {}, "cross joins");
}

TEST_P(Fragments, SourcesOfEverySize) {
    for (uint64_t rows : {0, 1, 31, 32, 33, 1000, 100'000}) {
        Table source = make_table({integers(rows / 2 + 1), integers(1000)}, rows, rows);
        TestFragment fragment(source);
        fragment.join(JoinKind::Inner, make_build({integers(rows / 2 + 1)}, rows / 3, 16), {source_column(0)})
            .join(JoinKind::Left, make_build({integers(1000), texts(50)}, 700, 17), {source_column(1)})
            .input(source_column(0))
            .input({0, 1})
            .input({1, 1});
        expect_rows(fragment, {.build_batch = 50'000, .probe_batch = 128 << 10},
                    std::to_string(rows) + " rows");
        if (HasFatalFailure()) return;
    }
}

// Rows that no stage gives are the source's.
TEST_P(Fragments, RowsOfTheSourceItself) {
    for (uint64_t rows : {0, 1, 31, 32, 33, 1000, 70'000}) {
        TestFragment fragment(make_table({integers(1000), texts(50), integers(30)}, rows, rows));
        fragment.spec().source_is_unnamed = 1;
        fragment.input(source_column(1)).input(source_column(0));
        expect_rows(fragment, {.probe_batch = 9000, .sink_bytes = 30'000}, std::to_string(rows) + " rows");
        if (HasFatalFailure()) return;
    }
}

// More rows out of a stage than its scratch memory holds, many times over.
TEST_P(Fragments, RowsThatMultiply) {
    TestFragment fragment(make_table({integers(3, 0)}, 400, 18));
    fragment.join(JoinKind::Inner, make_build({integers(3, 0), integers(2, 0)}, 300, 19), {source_column(0)})
        .join(JoinKind::Inner, make_build({integers(2, 0)}, 20, 20), {{0, 1}})
        .input({0, 2})
        .input({1, 1});
    expect_rows(fragment, {.probe_batch = 400}, "fan-out");
}

// Results name source rows in their order, and few rows at a time are not sent one by one.
TEST_P(Fragments, FewRowsAreSentTogether) {
    const uint64_t rows = 100'000;
    Table source{{number_column(rows), number_column(rows)}}, every_tenth{{number_column(rows / 10)}};
    for (uint64_t i = 0; i < rows / 10; i++) every_tenth.columns[0].values[i] = value_of(int64_t(10 * i));
    TestFragment fragment(source);
    fragment.join(JoinKind::Semi, source, {source_column(0)})
        .join(JoinKind::Semi, every_tenth, {source_column(1)})
        .input(source_column(1));
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened, rows);
    OwnedBatch batch(source, 0, rows);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened->run(batch.view(), &cursor));
    SinkMemory memory(1 << 20);
    uint64_t results = 0, seen = 0;
    for (ResultBatch result; !result.done; results++) {
        ASSERT_OK(cursor->next(memory.sink(), &result));
        EXPECT_FALSE(result.undecided);
        seen += result.rows;
    }
    EXPECT_EQ(seen, rows / 10);
    EXPECT_LE(results, 4u);
}

class AlwaysOver : public Turn {
  public:
    bool is_over() const override { return true; }
    void pass() override {}
    void step_aside(const std::function<void()>& wait) override { wait(); }
    bool is_quick() const override { return false; }
};

TEST_P(Fragments, CursorsReturnWhenTheirTurnIsOver) {
    TestFragment fragment(make_table({integers(2000), integers(1000)}, 20'000, 21));
    fragment
        .join(JoinKind::Inner, make_build({integers(2000)}, 3000, 22), {source_column(0)},
              Algorithm::NestedLoop)
        .join(JoinKind::Left, make_build({integers(1000), texts(50)}, 700, 23), {source_column(1)})
        .input({0, 1})
        .input({1, 1});
    AlwaysOver turn;
    const TurnScope scope(&turn);
    expect_rows(fragment, {.probe_batch = 20'000}, "turns");
}

TEST_P(Fragments, CancelStopsThem) {
    TestFragment fragment(make_table({integers(20)}, 1000, 24));
    fragment.join(JoinKind::Inner, make_build({integers(20)}, 1000, 25), {source_column(0)})
        .join(JoinKind::Semi, make_build({integers(20)}, 1000, 26), {source_column(0)});
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    OwnedBatch batch(fragment.source(), 0, 1000);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened->run(batch.view(), &cursor));
    cancel_ = true;
    SinkMemory memory(4096);
    ResultBatch result;
    EXPECT_EQ(cursor->next(memory.sink(), &result).fault, Fault::Cancelled);
}

// How much is enough depends on who gets which batch, where there are two.
TEST_P(Fragments, MemoryLimits) {
    if (GetParam().starts_with("two")) GTEST_SKIP() << "there is no least memory";
    TestFragment fragment(make_table({integers(2000), texts(500)}, 5000, 27));
    fragment.join(JoinKind::Inner, make_build({integers(2000), texts(500)}, 3000, 28), {source_column(0)})
        .join(JoinKind::Left, make_build({texts(500)}, 300, 29), {source_column(1)})
        .input({0, 1})
        .input({1, 1});
    expect_enough_from_somewhere(*engine_, fragment, &cancel_, 64 << 20);
}

// The first ones do not take what the last ones need.
TEST_P(Fragments, ManyStagesShareLittleMemory) {
    if (GetParam().starts_with("two")) GTEST_SKIP() << "there is no least memory";
    constexpr uint32_t kStages = 8;
    TestFragment fragment(make_table({integers(2000)}, 4000, 37));
    for (uint32_t i = 0; i < kStages; i++)
        fragment.join(JoinKind::Left, make_build({integers(2000), texts(500)}, 1000, 38 + i),
                      {source_column(0)});
    for (uint16_t i = 0; i < kStages; i++) fragment.input({i, 1});
    expect_enough_from_somewhere(*engine_, fragment, &cancel_, 96 << 20);
}

TEST_P(Fragments, SeveralThreads) {
    TestFragment fragment(make_table({integers(300), integers(100)}, 8000, 30));
    fragment.join(JoinKind::Inner, make_build({integers(300)}, 500, 31), {source_column(0)})
        .join(JoinKind::Left, make_build({integers(100), texts(50)}, 70, 32), {source_column(1)})
        .input({0, 1})
        .input({1, 1});
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    std::vector<ResultRow> all;
    run_rows_in_threads(*opened, fragment, 500, &all);
    expect_same(expected_rows(fragment), all, "threads");
}

GPUJOIN_FOR_EACH_ENGINE_AND_TWO(Fragments);

}  // namespace
}  // namespace gpujoin::test
