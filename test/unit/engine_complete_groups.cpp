// Complete groups: asked for, each comes once, though batches that run at the same time have tables of their
// own, and tables are set aside when they are full; where that cannot be, nothing says so, and the groups are
// right nevertheless.
#include <cmath>

#include "engine_group_tables.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

class CompleteGroups : public FragmentGroups {
  protected:
    void expect_complete(TestGroups& fragment, uint64_t batch_rows, const std::string& what) {
        fragment.spec().completes_groups = 1;
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        uint64_t used = 0;
        for (int run = 0; run < (kIsForThreads ? 2 : 3) && !HasFatalFailure(); run++) {
            Came came;
            run_together(*opened, fragment, batch_rows,
                         [&](Cursor& cursor) { drain_groups(cursor, fragment, 1u << 16, &came); });
            if (HasFatalFailure()) return;
            expect_same_groups(fragment, came, what);
            EXPECT_EQ(came.complete_results, came.results) << what;
            EXPECT_EQ(came.partial_groups, came.groups.size()) << what;
            ASSERT_OK(opened->rewind());
            EXPECT_TRUE(run == 0 || host_memory_.used() <= used + used / 2 + (1u << 20))
                << what << ": tables of run " << run << " stay";
            used = host_memory_.used();
        }
    }
};

TEST_P(CompleteGroups, OfSeveralTables) {
    const ColumnPlan text{bytes_column(), 500, true, 0.1};
    const ColumnPlan wide{fixed_column(ColumnType::Fixed16, ValueOrder::Unsigned), 300, true, 0.1};
    const ColumnPlan words{fixed_column(ColumnType::Fixed8), 700, false, 0.1};
    for (const ColumnPlan& key : {integers(400), integers(1), words, wide, text}) {
        for (uint64_t batch_rows : {1000u, 2500u, 5000u}) {
            TestGroups fragment(make_table({key, integers(50), text}, 5000, batch_rows));
            fragment.input(source_column(0)).input(source_column(1)).input(source_column(2)).key(0);
            aggregate_integers(fragment, 1, 1);
            fragment.aggregate(AggregateFunction::Any, 2);
            expect_complete(fragment, batch_rows, std::to_string(batch_rows) + " rows");
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(CompleteGroups, OfTwoKeysAndOfAllRows) {
    TestGroups fragment(
        make_table({integers(40), integers(30, 0.5), {bytes_column(), 9, true, 0.3}}, 6000, 1));
    fragment.input(source_column(0)).input(source_column(1)).input(source_column(2)).key(2).key(0).key(1);
    aggregate_integers(fragment, 1, 0);
    expect_complete(fragment, 1500, "three keys");
    TestGroups total(make_table({integers(10)}, 3000, 3));
    total.input(source_column(0)).spec().sink = SinkKind::Groups;
    aggregate_integers(total, 0, 0);
    expect_complete(total, 700, "all rows");
    TestGroups none(make_table({integers(10)}, 0, 3));
    none.input(source_column(0)).key(0);
    expect_complete(none, 700, "no rows");
}

// More bytes of texts than a table has are in some that were set aside, and in the last one.
TEST_P(CompleteGroups, OfTablesThatAreFull) {
    constexpr uint64_t kRows = kIsSanitized ? 34'000 : 60'000;
    Column texts{bytes_column(), {}};
    for (uint64_t i = 0; i < kRows; i++)
        texts.values.emplace_back(std::string(2500, 'x') + std::to_string(i * 7919 % (kRows - 5000)));
    TestGroups fragment({{std::move(texts), number_column(kRows)}});
    fragment.input(source_column(0)).input(source_column(1)).key(0);
    fragment.aggregate(Function::Count).aggregate(Function::Sum, fragment.value_of_input(1));
    expect_complete(fragment, kRows, "full tables");
}

// Sums of floats are not merged where they might leave the range of floats: what comes are partial groups.
class CompleteSumsOfFloats : public CompleteGroups {
  protected:
    void expect_groups(double scale, bool are_complete);
};

void CompleteSumsOfFloats::expect_groups(double scale, bool are_complete) {
    std::vector<std::optional<double>> numbers;
    for (int i = 0; i < 4000; i++)
        numbers.push_back(i % 9 ? std::optional(i % 2 ? scale * i : -scale * i) : std::nullopt);
    Table table = make_table({integers(20)}, 4000, 5);
    table.columns.push_back(column_of_doubles(numbers));
    TestGroups fragment(std::move(table));
    fragment.input(source_column(0)).input(source_column(1)).key(0);
    const uint16_t value = fragment.value_of_input(1, FilterType::Float64);
    fragment.aggregate(Function::Sum, value)
        .aggregate(Function::Minimum, value)
        .aggregate(Function::Maximum, value);
    fragment.spec().completes_groups = 1;
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    Came came;
    run_together(*opened, fragment, 1000,
                 [&](Cursor& cursor) { drain_groups(cursor, fragment, 1u << 16, &came); });
    expect_same_groups(fragment, came, "floats");
    EXPECT_EQ(came.complete_results, are_complete ? came.results : 0u);
}

TEST_P(CompleteSumsOfFloats, WhereTheyStayInRange) {
    expect_groups(0.5, true);
    expect_groups(std::ldexp(1.0, 1001), false);
}

// Sums are exact but for one rounding, whichever batches the numbers come in.
TEST_P(CompleteSumsOfFloats, InAnyOrder) {
    const std::vector<double> terms = {1e16, 1.0, -1e16, 0x1p-20, 3e15, 1.0, -3e15, 0.5};
    for (uint64_t keys : {0u, 1u, 100u, 2000u}) {
        const uint64_t group_count = std::max<uint64_t>(keys, 1);
        std::vector<std::optional<double>> numbers;
        std::vector<std::optional<int64_t>> groups_of_rows;
        for (uint64_t i = 0; i < 16'000; i++) {
            numbers.emplace_back(terms[i / group_count * 7919 % terms.size()]);
            groups_of_rows.emplace_back(i % group_count);
        }
        TestGroups fragment({{column_of_doubles(numbers), column_of_words(groups_of_rows)}});
        fragment.input(source_column(0)).input(source_column(1));
        if (keys > 0) fragment.key(1);
        fragment.aggregate(Function::Sum, fragment.value_of_input(0, FilterType::Float64));
        fragment.spec().completes_groups = 1;
        const double terms_of_group = 16'000.0 / static_cast<double>(group_count * terms.size());
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        for (uint64_t batch_rows : {16'000u, 4000u, 700u}) {
            std::vector<Values> groups;
            run_together(*opened, fragment, batch_rows,
                         [&](Cursor& cursor) { take_groups(cursor, fragment, &groups); });
            ASSERT_EQ(groups.size(), group_count);
            for (const Values& group : groups)
                ASSERT_EQ(group.back(), value_of(terms_of_group * (2.5 + 0x1p-20)))
                    << keys << " keys, batches of " << batch_rows;
            ASSERT_OK(opened->rewind());
        }
    }
}

class CompleteGroupsInMemory : public CompleteGroups {
  protected:
    // Has the groups of four batches with less and less memory, until they come as partial ones.
    void expect_groups_in(uint64_t most, uint64_t batch_rows);
};

void CompleteGroupsInMemory::expect_groups_in(uint64_t most, uint64_t batch_rows) {
    TestGroups fragment(
        make_table({{fixed_column(ColumnType::Fixed8), 1u << 30, false, 0}}, 4 * batch_rows, 7));
    fragment.input(source_column(0)).key(0);
    fragment.aggregate(Function::Count);
    fragment.spec().completes_groups = 1;
    bool was_complete = false, was_partial = false;
    for (uint64_t memory = most; !was_partial; memory -= memory / (kIsSanitized ? 2 : 4)) {
        Ledger host(memory), device(memory);
        const Limits scarce{&host, &device, &cancel_};
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, scarce, &opened);
        if (HasFatalFailure()) return;
        Came came;
        run_together(*opened, fragment, batch_rows,
                     [&](Cursor& cursor) { drain_groups(cursor, fragment, 1u << 16, &came); });
        if (HasFatalFailure()) return;
        expect_same_groups(fragment, came, std::to_string(memory) + " bytes");
        (came.complete_results == came.results ? was_complete : was_partial) = true;
    }
    EXPECT_TRUE(was_complete);
}

// Where there is no memory to merge, or even to hold all groups.
TEST_P(CompleteGroupsInMemory, FewGroups) {
    expect_groups_in(32u << 20, 10'000);
}

// Some of a table's groups are merged, and then there is no more memory.
TEST_P(CompleteGroupsInMemory, SomeGroupsOfATable) {
    expect_groups_in(24u << 20, 35'000);
}

GPUJOIN_FOR_EACH_ENGINE(CompleteGroups);
GPUJOIN_FOR_EACH_ENGINE(CompleteSumsOfFloats);
GPUJOIN_FOR_EACH_ENGINE(CompleteGroupsInMemory);

}  // namespace
}  // namespace gpujoin::test
