// Fragments of which only the first rows, or complete groups, are wanted: those that can be among them come,
// each as often as it is there; most others do not.
#include <algorithm>

#include "engine/compare.h"
#include "engine_fragment_tables.h"
#include "engine_group_tables.h"

namespace gpujoin::test {
namespace {

TopSpec top_spec(uint32_t count, ColumnRef key, ValueOrder order, bool is_descending, bool nulls_first) {
    TopSpec top{};
    top.count = count;
    top.key = key;
    top.order = order;
    top.is_descending = is_descending;
    top.nulls_first = nulls_first;
    return top;
}

// Compares keys as they are sorted: negative where the first comes first.
int compare_keys(const TestFragment& fragment, const Value& a, const Value& b) {
    const TopSpec& top = fragment.view().spec->top;
    if (!a || !b) return !a && !b ? 0 : (!a == (top.nulls_first != 0) ? -1 : 1);
    auto ref = [](const Value& value) {
        return ValueRef{reinterpret_cast<const std::byte*>(value->data()), value->size()};
    };
    const int order = compare_values(top_key(fragment.view()), ref(*a), ref(*b));
    return top.is_descending ? -order : order;
}

// A row, or group, and what it is sorted by.
struct KeyedRow {
    Value key;
    ResultRow row;
};

std::vector<ResultRow> sorted_rows(const std::vector<KeyedRow>& keyed) {
    std::vector<ResultRow> rows;
    for (const KeyedRow& one : keyed) rows.push_back(one.row);
    std::sort(rows.begin(), rows.end());
    return rows;
}

// What came is among what there is; and of this, sorted, what comes first came, with all that ties for the
// last place.
void expect_top(const TestFragment& fragment, std::vector<KeyedRow> all, const std::vector<ResultRow>& came,
                const std::string& what) {
    const std::vector<ResultRow> rows = sorted_rows(all);
    EXPECT_TRUE(std::includes(rows.begin(), rows.end(), came.begin(), came.end())) << what;
    std::stable_sort(all.begin(), all.end(), [&](const KeyedRow& a, const KeyedRow& b) {
        return compare_keys(fragment, a.key, b.key) < 0;
    });
    const size_t count = std::min<size_t>(fragment.view().spec->top.count, all.size());
    std::vector<KeyedRow> first;
    for (const KeyedRow& one : all)
        if (count > 0 && compare_keys(fragment, one.key, all[count - 1].key) <= 0) first.push_back(one);
    const std::vector<ResultRow> wanted = sorted_rows(first);
    EXPECT_TRUE(std::includes(came.begin(), came.end(), wanted.begin(), wanted.end())) << what;
}

std::vector<KeyedRow> keyed_rows(const TestFragment& fragment) {
    std::vector<KeyedRow> rows;
    const FragmentSpec& spec = *fragment.view().spec;
    for (const TestFragment::Row& row : fragment.rows()) {
        KeyedRow& keyed =
            rows.emplace_back(KeyedRow{fragment.value_at(row, spec.top.key), {named_row(fragment, row), {}}});
        for (uint32_t i = 0; i < spec.inputs; i++)
            keyed.row.values.push_back(fragment.value_at(row, spec.input[i]));
    }
    return rows;
}

class TopRows : public EngineTest {
  protected:
    void run_and_compare(Fragment& opened, const TestFragment& fragment, uint64_t batch, uint64_t most,
                         const std::string& what) {
        std::vector<ResultRow> came;
        run_rows(opened, fragment, {.probe_batch = batch, .sink_bytes = 20'000}, &came);
        if (HasFatalFailure()) return;
        const std::vector<KeyedRow> all = keyed_rows(fragment);
        expect_top(fragment, all, came, what);
        EXPECT_LE(came.size(), most) << what;
        const SinkStats stats = opened.sink_stats();
        EXPECT_EQ(stats.rows % std::max<size_t>(all.size(), 1), 0u) << what;
    }

    // Twice; most: rows that may come.
    void expect_rows(const TestFragment& fragment, uint64_t batch, uint64_t most, const std::string& what) {
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        for (int run = 0; run < 2 && !HasFatalFailure(); run++) {
            run_and_compare(*opened, fragment, batch, most, what);
            ASSERT_OK(opened->rewind());
        }
    }
};

ColumnPlan keys_of(uint64_t distinct, double null_share) {
    return {fixed_column(ColumnType::Fixed4), distinct, false, null_share};
}

Table numbered(const std::vector<ColumnPlan>& plans, uint64_t rows, uint64_t seed) {
    Random random(seed);
    Table table;
    for (const ColumnPlan& plan : plans) table.columns.push_back(make_column(plan, rows, random));
    table.columns.push_back(number_column(rows));
    return table;
}

constexpr uint64_t kRows = 12'000;

// Without any stage.
TEST_P(TopRows, OfTheSourceItself) {
    for (bool is_descending : {false, true}) {
        TestFragment fragment(numbered({keys_of(700, 0.02), keys_of(5000, 0.0005)}, kRows, 1));
        fragment.input({kFromSource, 2}).input({kFromSource, 1});
        fragment.spec().source_is_unnamed = 1;
        fragment.spec().top = top_spec(7, {kFromSource, 1}, ValueOrder::Unsigned, is_descending, false);
        expect_rows(fragment, 3000, kRows / 4, "source");
        if (HasFatalFailure()) return;
    }
}

// A lone stage and a chain, keys of the source and of a build side.
TEST_P(TopRows, OfEveryKind) {
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti}) {
        for (bool is_descending : {false, true}) {
            for (bool nulls_first : {false, true}) {
                TestFragment fragment(numbered({keys_of(700, 0.02), keys_of(5000, 0.0005)}, kRows, 1));
                fragment.join(kind, numbered({keys_of(700, 0.02)}, 500, 2), {{kFromSource, 0}})
                    .input({kFromSource, 1})
                    .input({kFromSource, 2});
                fragment.spec().top =
                    top_spec(7, {kFromSource, 1}, ValueOrder::Unsigned, is_descending, nulls_first);
                expect_rows(fragment, 3000, kRows / 4, describe(fragment.stage(0).join));
                fragment.join(JoinKind::Inner, numbered({keys_of(5000, 0)}, 4000, 3), {{kFromSource, 1}})
                    .input({1, 1});
                expect_rows(fragment, 3000, kRows / 4, "chain");
                if (HasFatalFailure()) return;
            }
        }
    }
}

// Of outer rows the key is NULL.
TEST_P(TopRows, ByWhatABuildSideHas) {
    for (bool nulls_first : {false, true}) {
        TestFragment fragment(numbered({keys_of(900, 0.02), keys_of(50, 0)}, kRows, 4));
        fragment.join(JoinKind::Left, numbered({keys_of(900, 0.02)}, 850, 5), {{kFromSource, 0}})
            .join(JoinKind::Left, numbered({keys_of(50, 0)}, 30, 6), {{kFromSource, 1}})
            .input({0, 1})
            .input({1, 1})
            .input({kFromSource, 2});
        for (bool is_descending : {false, true}) {
            fragment.spec().top = top_spec(20, {0, 1}, ValueOrder::Signed, is_descending, nulls_first);
            expect_rows(fragment, 2500, kRows, "by the first stage");
            fragment.spec().top = top_spec(20, {1, 1}, ValueOrder::Signed, is_descending, nulls_first);
            expect_rows(fragment, 2500, kRows, "by the second stage");
        }
    }
}

// All types and orders.
TEST_P(TopRows, ByKeysOfEveryType) {
    const std::pair<ColumnSpec, ValueOrder> kinds[] = {
        {fixed_column(ColumnType::Fixed1), ValueOrder::Unsigned},
        {fixed_column(ColumnType::Fixed2), ValueOrder::Signed},
        {fixed_column(ColumnType::Fixed4), ValueOrder::Float},
        {fixed_column(ColumnType::Fixed8), ValueOrder::Signed},
        {fixed_column(ColumnType::Fixed8), ValueOrder::Float},
        {fixed_column(ColumnType::Fixed16, ValueOrder::Unsigned), ValueOrder::Signed},
        {bytes_column(), ValueOrder::Bytes},
    };
    for (const auto& [column, order] : kinds) {
        TestFragment fragment(numbered({keys_of(300, 0), {column, 3000, true, 0.001}}, 6000, 7));
        fragment.join(JoinKind::Inner, numbered({keys_of(300, 0)}, 250, 8), {{kFromSource, 0}})
            .input({kFromSource, 1})
            .input({0, 1});
        for (bool is_descending : {false, true}) {
            fragment.spec().top = top_spec(9, {kFromSource, 1}, order, is_descending, false);
            expect_rows(fragment, 1000, 6000, "type " + std::to_string(static_cast<int>(column.type)));
        }
    }
}

TEST_P(TopRows, OfEveryNumber) {
    for (uint32_t count : {1u, 2u, 31u, 33u, 1000u, kMaxTopCount}) {
        for (uint64_t rows : {0u, 1u, 33u, 5000u}) {
            TestFragment fragment(numbered({keys_of(40, 0), keys_of(100'000, 0)}, rows, 9));
            fragment.join(JoinKind::Inner, numbered({keys_of(40, 0)}, 60, 10), {{kFromSource, 0}})
                .input({kFromSource, 1})
                .input({0, 1});
            fragment.spec().top = top_spec(count, {kFromSource, 1}, ValueOrder::Unsigned, true, true);
            expect_rows(fragment, 512, ~uint64_t{0}, std::to_string(count) + " of " + std::to_string(rows));
        }
    }
}

// Few of the rows come back, in whatever order they are.
TEST_P(TopRows, OthersStay) {
    Table source = numbered({keys_of(10, 0)}, 100'000, 11);
    TestFragment fragment(source);
    fragment.join(JoinKind::Semi, numbered({keys_of(10, 0)}, 100, 12), {{kFromSource, 0}})
        .input({kFromSource, 1});
    for (bool is_descending : {false, true}) {
        fragment.spec().top = top_spec(10, {kFromSource, 1}, ValueOrder::Signed, is_descending, false);
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        run_and_compare(*opened, fragment, 20'000, 200, is_descending ? "the last ones" : "the first ones");
        const SinkStats stats = opened->sink_stats();
        EXPECT_EQ(stats.rows, expected_rows(fragment).size());
        EXPECT_GE(stats.left_out, stats.rows - 200);
    }
}

// Batches of which no row is wanted, after one of which all are, with texts.
TEST_P(TopRows, ThenNone) {
    Table source = numbered({keys_of(10, 0)}, 20'000, 17);
    for (size_t i = 0; i < 10'000; i++) source.columns[1].values[i] = source.columns[1].values[0];
    TestFragment fragment(source);
    Random random(18);
    Table build = numbered({keys_of(10, 0)}, 10, 18);
    build.columns.push_back(make_column({bytes_column(), 10, true, 0.1}, 10, random));
    fragment.join(JoinKind::Inner, build, {{kFromSource, 0}}).input({kFromSource, 1}).input({0, 2});
    fragment.spec().top = top_spec(10, {kFromSource, 1}, ValueOrder::Signed, false, false);
    expect_rows(fragment, 10'000, 20'000, "none of the second batch");
}

// A batch that is given up comes again: its rows are not counted twice.
TEST_P(TopRows, BatchesThatAreGivenUp) {
    TestFragment fragment(numbered({keys_of(10, 0), keys_of(1000, 0)}, 4000, 13));
    fragment.join(JoinKind::Inner, numbered({keys_of(10, 0)}, 10, 14), {{kFromSource, 0}})
        .input({kFromSource, 1})
        .input({kFromSource, 2});
    fragment.spec().top = top_spec(50, {kFromSource, 1}, ValueOrder::Unsigned, false, false);
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    for (int attempt = 0; attempt < 3; attempt++) {
        OwnedBatch batch(fragment.source(), 0, 4000);
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(opened->run(batch.view(), &cursor));
        SinkMemory memory(200);
        ResultBatch result;
        ASSERT_OK(cursor->next(memory.sink(), &result));
        ASSERT_FALSE(result.done);
    }
    run_and_compare(*opened, fragment, 4000, 4000, "at last");
}

TEST_P(TopRows, SeveralThreads) {
    TestFragment fragment(numbered({keys_of(300, 0), keys_of(50'000, 0)}, 40'000, 15));
    fragment.join(JoinKind::Inner, numbered({keys_of(300, 0)}, 300, 16), {{kFromSource, 0}})
        .input({kFromSource, 1})
        .input({0, 1});
    fragment.spec().top = top_spec(100, {kFromSource, 1}, ValueOrder::Unsigned, false, false);
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    std::vector<ResultRow> came;
    run_rows_in_threads(*opened, fragment, 1000, &came);
    expect_top(fragment, keyed_rows(fragment), came, "threads");
}

GPUJOIN_FOR_EACH_ENGINE_AND_TWO(TopRows);

// Groups, as rows of their columns.
class TopGroups : public FragmentGroups {
  protected:
    // All batches run at the same time, so that they have tables of their own.
    void run_groups(TestGroups& fragment, uint64_t batch_rows, std::vector<KeyedRow>* groups) {
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        run_together(*opened, fragment, batch_rows, [&](Cursor& cursor) { drain(cursor, fragment, groups); });
        left_out_ = opened->sink_stats().left_out;
    }

    void drain(Cursor& cursor, const TestGroups& fragment, std::vector<KeyedRow>* groups) {
        SinkMemory memory(5000);
        for (ResultBatch result; !result.done;) {
            ASSERT_OK(cursor.next(memory.sink(), &result));
            ASSERT_EQ(result.bytes_needed, 0u);
            if (result.rows == 0 || result.undecided) continue;
            for (const Values& group : read_values(fragment.columns(), memory.data(), result)) {
                KeyedRow& keyed =
                    groups->emplace_back(KeyedRow{group[fragment.view().spec->top.key.column], {0, {}}});
                for (const Value& value : group) keyed.row.values.push_back(value);
            }
        }
    }

    void expect_top_groups(TestGroups& fragment, const TopSpec& top, const std::string& what) {
        std::vector<KeyedRow> all, came;
        fragment.spec().completes_groups = 1;
        fragment.spec().top = top;
        fragment.spec().top.count = 0;
        run_groups(fragment, 2000, &all);
        fragment.spec().top = top;
        run_groups(fragment, 2000, &came);
        if (HasFatalFailure()) return;
        if (GetParam().starts_with("two")) {
            EXPECT_EQ(left_out_, 0u) << what << ": neither has whole groups";
            return;
        }
        expect_top(fragment, all, sorted_rows(came), what);
        EXPECT_EQ(came.size() + left_out_, all.size()) << what;
        fragment.spec().top = {};
    }

    // Groups by integers: how many rows, a sum, a least value.
    TestGroups grouped(uint64_t groups, uint64_t rows) {
        TestGroups fragment(make_table({integers(groups), integers(1000), integers(50)}, rows, groups));
        fragment.input(source_column(0)).input(source_column(1)).input(source_column(2)).key(0);
        const uint16_t value = fragment.value_of_input(1);
        fragment.aggregate(Function::Count)
            .aggregate(Function::Sum, value)
            .aggregate(Function::Minimum, value);
        return fragment;
    }

    uint64_t left_out_ = 0;
};

TEST_P(TopGroups, ByEachColumn) {
    for (uint64_t groups : {3u, 2000u}) {
        TestGroups fragment = grouped(groups, 8000);
        for (bool is_descending : {false, true}) {
            for (uint16_t column = 0; column < 4; column++) {
                const ValueOrder order = column == 0 ? ValueOrder::Unsigned : ValueOrder::Signed;
                expect_top_groups(fragment, top_spec(10, {0, column}, order, is_descending, is_descending),
                                  "column " + std::to_string(column));
                if (HasFatalFailure()) return;
                // Of the least and greatest numbers and values many are the same.
                if (groups > 1000 && column != 1 && !GetParam().starts_with("two")) {
                    EXPECT_GT(left_out_, groups / 2);
                }
            }
        }
    }
}

// Groups that are not whole are all wanted: here some of their rows come back for the client to add.
TEST_P(TopGroups, NoneIsLeftOutWhereRowsEscape) {
    TestGroups fragment(make_table({integers(500, 0)}, 4000, 3));
    fragment.input(source_column(0)).key(0);
    FilterProgram program;
    ProgramWriter(program).probe(Opcode::Load, 0).constant(Opcode::Add, kGreatest);
    fragment.aggregate(Function::Maximum, fragment.value(program));
    fragment.spec().top = top_spec(10, {0, 0}, ValueOrder::Unsigned, false, false);
    fragment.spec().completes_groups = 1;
    std::vector<KeyedRow> came;
    run_groups(fragment, 1000, &came);
    EXPECT_EQ(left_out_, 0u);
}

GPUJOIN_FOR_EACH_ENGINE_AND_TWO(TopGroups);

}  // namespace
}  // namespace gpujoin::test
