// Chains whose stages find one row or none for each row, which an engine may look up in one pass: whatever
// the kinds, the keys and the columns, whatever comes behind them, and in however many pieces.
#include <numeric>

#include "engine_fragment_tables.h"

namespace gpujoin::test {
namespace {

constexpr auto source_column = TestFragment::of_source;

ColumnPlan sparse(uint64_t distinct, double null_share = 0.05) {
    return {fixed_column(ColumnType::Fixed4), distinct, true, null_share};
}

// A build side in which no key comes twice: so many of the keys that the plans have, in any order; several
// columns have the digits of one number. Then a number and a text.
Table make_unique(const std::vector<ColumnPlan>& plans, uint64_t rows, uint64_t seed) {
    uint64_t keys = 1;
    for (const ColumnPlan& plan : plans) keys *= plan.distinct;
    std::vector<uint64_t> numbers(keys);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), Random(seed));
    Table table;
    uint64_t step = 1;
    for (const ColumnPlan& plan : plans) {
        Column& column = table.columns.emplace_back(Column{plan.spec, {}});
        for (uint64_t i = 0; i < rows; i++)
            column.values.push_back(nth_value(plan, numbers[i] / step % plan.distinct));
        step *= plan.distinct;
    }
    table.columns.push_back(number_column(rows));
    table.columns.push_back(text_column(rows));
    return table;
}

class FusedStages : public FragmentTest {
  protected:
    // Only a device's engine does it.
    static bool can_fuse() { return GetParam().find("cuda") != std::string::npos; }
    static void expect_fused(Fragment& fragment, const std::vector<bool>& stages) {
        for (uint32_t i = 0; i < stages.size(); i++)
            EXPECT_EQ(fragment.join(i).stats().fused != 0, can_fuse() && stages[i]) << i;
    }
    // All rows of the source at once.
    void run_one_batch(const TestFragment& fragment, const Table& source, std::unique_ptr<Fragment>* opened,
                       std::vector<ResultRow>* found) {
        open_fragment(*engine_, fragment, limits(), opened, source.rows());
        OwnedBatch batch(source, 0, source.rows());
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK((*opened)->run(batch.view(), &cursor));
        drain(*cursor, TestFragment::reading(fragment.input_columns()), 1 << 20, 0, found);
    }
};

TEST_P(FusedStages, OfEveryKind) {
    const JoinKind kinds[] = {JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti};
    Table source = make_table({integers(60), sparse(50), texts(40)}, 900, 2);
    for (JoinKind first : kinds)
        for (JoinKind second : kinds)
            for (JoinKind third : kinds) {
                TestFragment fragment(source);
                fragment.join(first, make_unique({integers(60)}, 50, 3), {source_column(0)})
                    .join(second, make_unique({sparse(50)}, 40, 4), {source_column(1)})
                    .join(third, make_unique({texts(40)}, 30, 5), {source_column(2)})
                    .input(source_column(2));
                for (uint16_t stage = 0; stage < 3; stage++)
                    fragment.input({stage, 0}).input({stage, 1}).input({stage, 2});
                expect_rows(fragment, {},
                            std::string(name_of(first)) + ", " + name_of(second) + ", " + name_of(third));
                if (HasFatalFailure()) return;
            }
}

TEST_P(FusedStages, ByKeysOfEveryType) {
    const std::vector<std::vector<ColumnPlan>> keys = {
        {{fixed_column(ColumnType::Fixed1), 100, false, 0.05}},
        {{fixed_column(ColumnType::Fixed2), 100, true, 0.05}},
        {{fixed_column(ColumnType::Fixed4), 100, false, 0}},
        {{fixed_column(ColumnType::Fixed8), 100, true, 0.05}},
        {{fixed_column(ColumnType::Fixed2, ValueOrder::Unsigned), 100, true, 0.05}},
        {{fixed_column(ColumnType::Fixed4, ValueOrder::Unsigned), 100, true, 0.05}},
        {{fixed_column(ColumnType::Fixed8, ValueOrder::Unsigned), 100, false, 0}},
        {{fixed_column(ColumnType::Fixed8, ValueOrder::Float), 100, true, 0.05}},
        {{fixed_column(ColumnType::Fixed16, ValueOrder::Bytes), 100, true, 0.05}},
        {{fixed_column(ColumnType::Fixed4), 10, true, 0.05},
         {fixed_column(ColumnType::Fixed8), 10, true, 0.05}},
        {{fixed_column(ColumnType::Fixed4), 10, false, 0}, {fixed_column(ColumnType::Fixed4), 10, false, 0}},
        {{fixed_column(ColumnType::Fixed8), 10, true, 0.05}, texts(10)},
    };
    std::vector<ColumnPlan> columns;
    for (const auto& key : keys) columns.insert(columns.end(), key.begin(), key.end());
    const Table source = make_table(columns, 2000, 6);
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left}) {
        TestFragment fragment(source);
        uint16_t column = 0, stage = 0;
        for (const auto& key : keys) {
            std::vector<ColumnRef> refs;
            for (size_t i = 0; i < key.size(); i++) refs.push_back(source_column(column++));
            fragment.join(kind, make_unique(key, 90, stage), refs)
                .input({stage, static_cast<uint16_t>(refs.size())});
            stage++;
        }
        expect_rows(fragment, {}, name_of(kind));
    }
}

// Keys that earlier stages have found, of one stage and of two, and keys that came of no row.
TEST_P(FusedStages, ByKeysOfEarlierStages) {
    Table country = make_unique({integers(10)}, 8, 7);
    Table city = make_unique({integers(40)}, 35, 8);
    city.columns.push_back(make_table({integers(10)}, 35, 9).columns[0]);
    Table shop = make_unique({sparse(90)}, 70, 10);
    shop.columns.push_back(make_table({integers(40)}, 70, 11).columns[0]);
    Table pair = make_unique({integers(40), integers(10)}, 300, 12);
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left}) {
        TestFragment fragment(make_table({sparse(90)}, 3000, 13));
        fragment.join(kind, shop, {source_column(0)})
            .join(kind, city, {{0, 3}})
            .join(kind, country, {{1, 3}})
            .join(JoinKind::Semi, make_unique({integers(40)}, 30, 14), {{1, 0}})
            .join(kind, pair, {{0, 3}, {1, 3}})
            .input({0, 2})
            .input({1, 1})
            .input({2, 2})
            .input({4, 2});
        expect_rows(fragment, {}, name_of(kind));
    }
}

// The only column of a build side, of 4 bytes, may be held where keys are looked up, and be the key of later
// stages; unless a value is what an empty place has.
TEST_P(FusedStages, ValuesInThePlaceOfRows) {
    for (bool is_sparse : {true, false}) {
        for (bool has_all_bits : {false, true}) {
            const ColumnPlan key{fixed_column(ColumnType::Fixed4, ValueOrder::Signed, false), 5000, is_sparse,
                                 0};
            TestFragment fragment(make_table({key, key}, 20'000, 15));
            for (uint16_t stage = 0; stage < 2; stage++) {
                Table build = make_unique({key}, 4000, 16 + stage);
                build.columns.resize(1);
                build.columns.push_back(make_table({key}, 4000, 18 + stage).columns[0]);
                if (has_all_bits) build.columns[1].values[7] = value_of(int32_t{-1});
                fragment.join(JoinKind::Inner, build, {source_column(stage)}).input({stage, 1});
            }
            fragment.join(JoinKind::Inner, make_unique({key}, 4500, 28), {{0, 1}})
                .join(JoinKind::Left, make_unique({key}, 3000, 29), {{1, 1}})
                .join(JoinKind::Semi, make_unique({key}, 4600, 30), {{0, 1}})
                .input({2, 1})
                .input({3, 1});
            for (uint16_t stage = 0; stage < 5; stage++)
                fragment.stage(stage).join.estimated_probe_rows = 20'000;
            const std::string what = is_sparse ? "sparse" : "dense";
            expect_rows(fragment, {.probe_batch = 20'000}, what);
            expect_rows(fragment, {.probe_batch = 3000}, what + ", batches");
            std::unique_ptr<Fragment> opened;
            open_fragment(*engine_, fragment, limits(), &opened);
            std::vector<ResultRow> rows;
            run_rows(*opened, fragment, {}, &rows);
            expect_fused(*opened, {true, true, true, true, true});
            if (HasFatalFailure()) return;
        }
    }
}

// What comes behind them: a stage that multiplies rows, one that tests all pairs, one that could be fused.
TEST_P(FusedStages, OthersBehindThem) {
    TestFragment fragment(make_table({integers(60), sparse(50), texts(40), integers(9)}, 900, 20));
    fragment.join(JoinKind::Inner, make_unique({integers(60)}, 55, 21), {source_column(0)})
        .join(JoinKind::Left, make_unique({sparse(50)}, 40, 22), {source_column(1)})
        .join(JoinKind::Inner, make_build({integers(9), texts(9)}, 20, 23), {source_column(3)})
        .join(JoinKind::Left, make_unique({texts(40)}, 30, 24), {source_column(2)}, Algorithm::NestedLoop)
        .join(JoinKind::Inner, make_unique({integers(60)}, 50, 25), {{0, 0}})
        .input(source_column(2))
        .input({0, 2})
        .input({1, 1})
        .input({2, 1})
        .input({3, 2})
        .input({4, 1});
    for (uint64_t bytes : {256, 4096, 1 << 20})
        expect_rows(fragment, {.sink_bytes = bytes}, std::to_string(bytes) + " bytes");
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    std::vector<ResultRow> rows;
    run_rows(*opened, fragment, {}, &rows);
    expect_same(expected_rows(fragment), rows, "once more");
    expect_fused(*opened, {true, true, false, false, false});
}

TEST_P(FusedStages, SourcesOfEverySize) {
    for (uint64_t rows : {0, 1, 31, 32, 33, 127, 129, 1000, 100'000}) {
        TestFragment fragment(make_table({integers(rows / 2 + 1), sparse(1000)}, rows, rows));
        fragment.join(JoinKind::Left, make_unique({integers(rows / 2 + 1)}, rows / 3, 26), {source_column(0)})
            .join(JoinKind::Inner, make_unique({sparse(1000)}, 900, 27), {source_column(1)})
            .input(source_column(0))
            .input({0, 2})
            .input({1, 1});
        expect_rows(fragment, {.build_batch = 50'000, .probe_batch = 128 << 10},
                    std::to_string(rows) + " rows");
        if (HasFatalFailure()) return;
    }
}

// Rows come in the order of the source: in one piece where all stages are fused and nothing is written, else
// in pieces of no more rows than a batch.
TEST_P(FusedStages, MoreRowsThanABatch) {
    const uint64_t rows = can_fuse() ? kMaxBatchRows + kMaxBatchRows / 4 : 10'000;
    Table source{{number_column(rows)}}, thirds{{number_column(rows / 3)}}, fifths{{number_column(rows / 5)}};
    Table twice{{number_column(rows / 5 * 2)}};
    for (uint64_t i = 0; i < rows / 3; i++) thirds.columns[0].values[i] = value_of(int64_t(3 * i));
    for (uint64_t i = 0; i < rows / 5; i++) fifths.columns[0].values[i] = value_of(int64_t(5 * i));
    for (uint64_t i = 0; i < rows / 5 * 2; i++) twice.columns[0].values[i] = value_of(int64_t(6 * (i / 2)));
    for (bool is_behind : {false, true}) {
        TestFragment fragment(source);
        fragment.join(JoinKind::Inner, thirds, {source_column(0)})
            .join(JoinKind::Anti, fifths, {source_column(0)});
        if (is_behind) fragment.join(JoinKind::Inner, twice, {source_column(0)});
        fragment.input({0, 0});
        std::unique_ptr<Fragment> opened;
        std::vector<ResultRow> found;
        run_one_batch(fragment, source, &opened, &found);
        std::vector<int64_t> expected, numbers;
        for (uint64_t i = 0; i / 3 < rows / 3; i += 3) {
            if (i % 5 == 0 && i / 5 < rows / 5) continue;
            const int copies = !is_behind ? 1 : i % 6 == 0 && i / 6 < rows / 5 ? 2 : 0;
            expected.insert(expected.end(), copies, static_cast<int64_t>(i));
        }
        for (const ResultRow& row : found) numbers.push_back(row.probe_row);
        EXPECT_TRUE(numbers == expected);
        for (const ResultRow& row : found) {
            RowValues number;
            number.push_back(value_of(row.probe_row));
            ASSERT_EQ(row.values, number);
        }
    }
}

// Whose columns are written.
TEST_P(FusedStages, MoreRowsOfAnOuterJoinThanABatch) {
    const uint64_t rows = can_fuse() ? kMaxBatchRows + kMaxBatchRows / 4 : 10'000;
    Table source{{number_column(rows)}}, thirds{{number_column(rows / 3)}}, fifths{{number_column(rows / 5)}};
    for (uint64_t i = 0; i < rows / 3; i++) thirds.columns[0].values[i] = value_of(int64_t(3 * i));
    for (uint64_t i = 0; i < rows / 5; i++) fifths.columns[0].values[i] = value_of(int64_t(5 * i));
    TestFragment fragment(source);
    fragment.join(JoinKind::Left, thirds, {source_column(0)})
        .join(JoinKind::Left, fifths, {source_column(0)});
    fragment.input({0, 0}).input({1, 0});
    std::unique_ptr<Fragment> opened;
    std::vector<ResultRow> found;
    run_one_batch(fragment, source, &opened, &found);
    ASSERT_EQ(found.size(), rows);
    for (uint64_t i = 0; i < rows; i++) {
        RowValues values;
        for (uint64_t step : {3, 5})
            values.push_back(i % step == 0 && i / step < rows / step ? value_of(int64_t(i)) : Value{});
        ASSERT_EQ(found[i], (ResultRow{static_cast<int64_t>(i), values}));
    }
    expect_fused(*opened, {true, true});
}

// Whatever the limit: pieces get smaller, or stages go one by one.
TEST_P(FusedStages, MemoryLimits) {
    if (GetParam().starts_with("two")) GTEST_SKIP() << "there is no least memory";
    TestFragment fragment(make_table({integers(2000), sparse(2000), texts(500)}, 9000, 28));
    fragment.join(JoinKind::Left, make_unique({integers(2000)}, 1500, 29), {source_column(0)})
        .join(JoinKind::Inner, make_unique({sparse(2000)}, 1900, 30), {source_column(1)})
        .join(JoinKind::Left, make_unique({texts(500)}, 300, 31), {source_column(2)});
    for (uint16_t stage = 0; stage < 3; stage++) fragment.input({stage, 1}).input({stage, 2});
    expect_enough_from_somewhere(*engine_, fragment, &cancel_, 96 << 20);
}

// The same where texts of build sides, and a stage behind, want memory, too; and where no row comes out at
// first.
TEST_P(FusedStages, MemoryLimitsBehindThem) {
    if (GetParam().starts_with("two")) GTEST_SKIP() << "there is no least memory";
    Table source = make_table({integers(2000), sparse(2000), texts(500)}, 9000, 40);
    for (uint64_t i = 0; i < 4000; i++) source.columns[0].values[i] = std::nullopt;
    Table wide = make_unique({integers(2000)}, 1500, 41);
    for (uint64_t i = 0; i < 1500; i++) wide.columns[2].values[i] = std::string(i % 3000, 'w');
    TestFragment fragment(source);
    fragment.join(JoinKind::Inner, wide, {source_column(0)})
        .join(JoinKind::Inner, make_unique({sparse(2000)}, 1900, 42), {source_column(1)})
        .join(JoinKind::Left, make_build({texts(500), texts(90)}, 400, 43), {source_column(2)})
        .input({0, 2})
        .input({1, 1})
        .input({2, 1});
    expect_enough_from_somewhere(*engine_, fragment, &cancel_, 192 << 20);
}

TEST_P(FusedStages, SeveralThreads) {
    TestFragment fragment(make_table({integers(300), sparse(100)}, 8000, 32));
    fragment.join(JoinKind::Inner, make_unique({integers(300)}, 200, 33), {source_column(0)})
        .join(JoinKind::Left, make_unique({sparse(100)}, 70, 34), {source_column(1)})
        .input({0, 1})
        .input({1, 2});
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    std::vector<ResultRow> all;
    run_rows_in_threads(*opened, fragment, 500, &all);
    expect_same(expected_rows(fragment), all, "threads");
    const JoinStats first = opened->join(0).stats(), second = opened->join(1).stats();
    EXPECT_EQ(first.probe_rows, 8000u);
    EXPECT_LT(second.probe_rows, 8000u * 3 / 4);
    EXPECT_GT(second.probe_rows, 8000u / 2);
    expect_fused(*opened, {true, true});
}

GPUJOIN_FOR_EACH_ENGINE_AND_TWO(FusedStages);

}  // namespace
}  // namespace gpujoin::test
