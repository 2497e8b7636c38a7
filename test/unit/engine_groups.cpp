// Fragments whose sink is groups: what the client makes of partial groups and escaped rows is what
// aggregating the rows one by one gives, however they are cut into batches, tables and results.
#include <thread>

#include "engine_collisions.h"
#include "engine_group_tables.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

// Keys that are packed into 8 and 16 bytes, and that are not; with NULLs.
TEST_P(FragmentGroups, KeysOfEveryType) {
    const ColumnPlan text{bytes_column(), 30, true, 0.1};
    const ColumnPlan wide{fixed_column(ColumnType::Fixed16, ValueOrder::Unsigned), 30, true, 0.1};
    const ColumnPlan number{fixed_column(ColumnType::Fixed8, ValueOrder::Float), 40, false, 0.1};
    const ColumnPlan byte{fixed_column(ColumnType::Fixed1), 5, false, 0.1};
    const ColumnPlan short_one{fixed_column(ColumnType::Fixed2, ValueOrder::Unsigned), 6, false, 0.1};
    const ColumnPlan never_null{fixed_column(ColumnType::Fixed8, ValueOrder::Signed, false), 30};
    const std::vector<std::vector<ColumnPlan>> keys = {{},
                                                       {integers(20)},
                                                       {never_null},
                                                       {number},
                                                       {byte, short_one},
                                                       {integers(4), integers(5)},
                                                       {number, byte},
                                                       {never_null, never_null},
                                                       {wide},
                                                       {text},
                                                       {text, integers(3), text},
                                                       {wide, text, byte}};
    for (size_t i = 0; i < keys.size(); i++) {
        std::vector<ColumnPlan> columns = keys[i];
        columns.push_back(integers(1000));
        columns.push_back(integers(20));
        TestGroups fragment(make_table(columns, 2000, i));
        let_through(fragment);
        for (uint16_t c = 0; c < columns.size(); c++) fragment.input(source_column(c));
        for (uint16_t c = 0; c < keys[i].size(); c++) fragment.key(c);
        const auto values = static_cast<uint16_t>(keys[i].size());
        aggregate_integers(fragment, values, static_cast<uint16_t>(values + 1));
        expect_groups(fragment, {}, "keys " + std::to_string(i));
        expect_groups(fragment, {.probe_batch = 33, .sink_bytes = 700}, "small, keys " + std::to_string(i));
        if (HasFatalFailure()) return;
    }
}

// Short texts are told from each other by their words, long ones are not; alone, two, among others, and so
// many that they are not packed. Zero bytes count, and no text is NULL.
TEST_P(FragmentGroups, TextsOfEveryLength) {
    Column texts{bytes_column(), {}};
    for (uint32_t i = 0; i < 3000; i++) {
        const uint32_t length = i * 7919 % 37;
        std::string text(length, i % 3 == 0 ? '\0' : 'a');
        if (length > 0 && i % 2 == 0) text[i / 37 % length] = static_cast<char>(i % 5 == 0 ? 0xff : 'b');
        texts.values.push_back(length == 36 ? Value() : Value(text));
    }
    Column others{bytes_column(), {}};
    for (uint32_t i = 0; i < 3000; i++) others.values.push_back(texts.values[i * 31 % 3000]);
    const Table source{{texts, number_column(3000), others}};
    for (const std::vector<uint16_t>& keys :
         std::vector<std::vector<uint16_t>>{{0}, {0, 2}, {1, 0}, {0, 1, 2}}) {
        TestGroups fragment(source);
        let_through(fragment);
        for (uint16_t c = 0; c < 3; c++) fragment.input(source_column(c));
        for (uint16_t key : keys) fragment.key(key);
        fragment.aggregate(Function::Count).aggregate(Function::Any, 2);
        expect_groups(fragment, {.probe_batch = 700}, std::to_string(keys.size()) + " keys");
        if (HasFatalFailure()) return;
    }
}

// Alone and beside a number: keys with the same hash, or with bits of it that are the same.
TEST_P(FragmentGroups, KeysThatCollide) {
    constexpr uint32_t kKeys = 300;
    for (const CollidingKeys& keys : colliding_keys(kKeys)) {
        Table source{{keys.column, number_column(3 * kKeys)}};
        for (uint32_t i = 0; i < 2 * kKeys; i++)
            source.columns[0].values.push_back(keys.column.values[i % kKeys]);
        for (bool beside_number : {false, true}) {
            TestGroups fragment(source);
            fragment.input(source_column(0)).input(source_column(1)).key(0);
            if (beside_number) fragment.key(1);
            fragment.aggregate(Function::Count).aggregate(Function::Sum, fragment.value_of_input(1));
            expect_groups(fragment, {.probe_batch = 250}, keys.name);
            if (HasFatalFailure()) return;
        }
    }
}

// None, one, many, all different, all NULL; and few that most rows are of.
TEST_P(FragmentGroups, NumbersOfGroups) {
    for (uint64_t rows : {0, 1, 31, 32, 33, 64, 65, 3000}) {
        for (uint64_t distinct : {uint64_t{1}, uint64_t{2}, rows / 3 + 1, uint64_t{1} << 40}) {
            for (double null_share : {0.0, 0.1, 1.0}) {
                TestGroups fragment(make_table(
                    {{fixed_column(ColumnType::Fixed8), distinct, false, null_share}, integers(50)}, rows,
                    rows + distinct));
                let_through(fragment).input(source_column(0)).input(source_column(1)).key(0);
                aggregate_integers(fragment, 1, 1);
                expect_groups(fragment, {}, std::to_string(rows) + " rows, " + std::to_string(distinct));
                if (HasFatalFailure()) return;
            }
        }
    }
    Random random(1);
    Column zipf{fixed_column(ColumnType::Fixed8), {}};
    for (int i = 0; i < 20'000; i++)
        zipf.values.emplace_back(
            value_of(static_cast<int64_t>(1.0 / (1e-4 + double(random() % 10'000) / 1e4))));
    TestGroups fragment({{zipf, number_column(20'000)}});
    let_through(fragment).input(source_column(0)).input(source_column(1)).key(0);
    aggregate_integers(fragment, 1, 0);
    expect_groups(fragment, {.probe_batch = 7000}, "Zipf");
}

// Rows of groups that have come already, as few or as many as are added up in different places; NULLs, values
// of either sign and beyond what 64 bits sum up to, filters, and rows that escape.
TEST_P(FragmentGroups, GroupsThatHaveComeBefore) {
    const uint64_t rows = kIsSanitized ? 20'000 : 60'000;
    for (uint64_t distinct : {1, 3, 40, 700, 9000}) {
        for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8}) {
            Table source =
                make_table({{fixed_column(type), distinct, false, 0.05}, integers(30)}, rows, distinct);
            std::vector<std::optional<int64_t>> words;
            for (uint64_t i = 0; i < rows; i++)
                words.emplace_back(i % 23 == 0   ? std::nullopt
                                   : i % 97 == 0 ? std::optional<int64_t>(kGreatest)
                                   : i % 3 == 0  ? std::optional<int64_t>(kLeast + int64_t(i))
                                   : i % 11 == 0 ? std::optional<int64_t>(-int64_t(i))
                                                 : std::optional<int64_t>(int64_t(i) << 16));
            source.columns.push_back(column_of_words(words));
            for (bool escapes : {false, true}) {
                TestGroups fragment(source);
                for (uint16_t c = 0; c < 3; c++) fragment.input(source_column(c));
                if (distinct > 1) fragment.key(0);
                FilterProgram few, sum;
                ProgramWriter(few).probe(Opcode::Load, 1).constant(Opcode::Less, int64_t{12});
                ProgramWriter(sum).probe(Opcode::Load, 2).probe(Opcode::Add, 1);
                const uint16_t value = fragment.value_of_input(2), filter = fragment.value(few);
                fragment.aggregate(Function::Count)
                    .aggregate(Function::Count, value)
                    .aggregate(Function::Sum, value)
                    .aggregate(Function::Sum, value, filter)
                    .aggregate(Function::Minimum, value)
                    .aggregate(Function::Maximum, value, filter)
                    .aggregate(Function::Any, 0);
                if (escapes) fragment.aggregate(Function::Sum, fragment.value(sum));
                const std::string what = std::to_string(distinct) + " groups";
                Came came;
                expect_groups(fragment, {.probe_batch = uint32_t(rows)}, what, &came);
                EXPECT_EQ(came.escaped.size() > 100, escapes) << what;
                expect_groups(fragment, {.probe_batch = 9000}, what + ", batches");
                if (HasFatalFailure()) return;
            }
        }
    }
}

// Columns as they are, without filters, of rows whose groups have come already: of two, four and eight bytes,
// with NULLs, sums that leave a word, and more aggregates than go with the kernel. By no key, one or two.
TEST_P(FragmentGroups, ColumnsOfGroupsThatHaveComeBefore) {
    const uint64_t rows = kIsSanitized ? 20'000 : 60'000;
    std::vector<std::optional<int64_t>> words;
    for (uint64_t i = 0; i < rows; i++)
        words.emplace_back(i % 29 == 0 ? std::nullopt
                                       : std::optional<int64_t>(i % 5 == 0   ? kLeast + int64_t(i)
                                                                : i % 3 == 0 ? kGreatest - int64_t(i)
                                                                             : int64_t(i) << 20));
    for (uint64_t distinct : {1, 3, 40, 700, 9000}) {
        for (size_t keys : {0, 1, 2}) {
            const ColumnType type = distinct % 2 ? ColumnType::Fixed4 : ColumnType::Fixed8;
            Table source =
                make_table({{fixed_column(type), distinct, false, keys == 1 ? 0.05 : 0.0},
                            {fixed_column(ColumnType::Fixed2), 9, true, 0.0},
                            {fixed_column(ColumnType::Fixed4), 1000, true, 0.2},
                            {fixed_column(ColumnType::Fixed4, ValueOrder::Float), 100, false, 0.1},
                            {fixed_column(ColumnType::Fixed8, ValueOrder::Float), 100, false, 0.0}},
                           rows, distinct + keys);
            source.columns.push_back(column_of_words(words));
            TestGroups fragment(source);
            for (uint16_t c = 0; c < 6; c++) fragment.input(source_column(c));
            for (uint16_t k = 0; k < keys; k++) fragment.key(k);
            const uint16_t word = fragment.value_of_input(5), narrow = fragment.value_of_input(1),
                           integer = fragment.value_of_input(2);
            const uint16_t single = fragment.value_of_input(3, FilterType::Float32),
                           twice = fragment.value_of_input(4, FilterType::Float64);
            fragment.aggregate(Function::Count)
                .aggregate(Function::Sum, word)
                .aggregate(Function::Minimum, word)
                .aggregate(Function::Sum, narrow)
                .aggregate(Function::Sum, integer)
                .aggregate(Function::Maximum, single)
                .aggregate(Function::Minimum, twice)
                .aggregate(Function::Count, single);
            const std::string what = std::to_string(distinct) + " groups, " + std::to_string(keys) + " keys";
            expect_groups(fragment, {.probe_batch = uint32_t(rows)}, what);
            expect_groups(fragment, {.probe_batch = 9001}, what + ", batches");
            fragment.aggregate(Function::Maximum, integer).aggregate(Function::Any, 0);
            expect_groups(fragment, {.probe_batch = 9001}, what + ", more aggregates");
            if (HasFatalFailure()) return;
        }
    }
}

// A key whose hash is that of NULL, beside NULLs and another key: of four bytes, whose tags are the keys
// otherwise, and of eight.
TEST_P(FragmentGroups, KeyWithTheTagOfNull) {
    constexpr uint64_t kHashOfNull = 0x5bd1e9955bd1e995u;
    const uint32_t alike4 = unmix32(static_cast<uint32_t>(kHashOfNull));
    const uint64_t alike8 = unmix(kHashOfNull);
    Column keys4{fixed_column(ColumnType::Fixed4), {}}, keys8{fixed_column(ColumnType::Fixed8), {}};
    const uint64_t rows = 20'000;
    for (uint64_t i = 0; i < rows; i++) {
        keys4.values.push_back(i % 3 == 0 ? Value() : value_of(i % 3 == 1 ? alike4 : uint32_t{5}));
        keys8.values.push_back(i % 3 == 0 ? Value() : value_of(i % 3 == 1 ? alike8 : uint64_t{5}));
    }
    for (const Column& keys : {keys4, keys8}) {
        TestGroups fragment({{keys, number_column(rows)}});
        fragment.input(source_column(0)).input(source_column(1)).key(0);
        fragment.aggregate(Function::Count).aggregate(Function::Sum, fragment.value_of_input(1));
        expect_groups(fragment, {.probe_batch = uint32_t(rows)}, "tag of NULL");
    }
}

// Without any stage the source's rows are aggregated where they lie.
TEST_P(FragmentGroups, OfTheSourceItself) {
    const ColumnPlan text{bytes_column(), 12, true, 0.1};
    for (uint64_t rows : {0, 1, 31, 32, 33, 64, 65, 3000, 70'000}) {
        for (uint64_t distinct : {uint64_t{1}, rows / 3 + 1}) {
            TestGroups fragment(
                make_table({{fixed_column(ColumnType::Fixed8), distinct, false, 0.1}, integers(50), text},
                           rows, rows + distinct));
            fragment.input(source_column(2)).input(source_column(1)).input(source_column(0)).key(2).key(0);
            aggregate_integers(fragment, 1, 1);
            fragment.aggregate(AggregateFunction::Any, 0);
            const std::string what = std::to_string(rows) + " rows, " + std::to_string(distinct);
            Came came;
            expect_groups(fragment, {.probe_batch = 9000}, what, &came);
            if (HasFatalFailure()) return;
        }
    }
    TestGroups total(make_table({integers(10)}, 300, 3));
    total.input(source_column(0)).spec().sink = SinkKind::Groups;
    aggregate_integers(total, 0, 0);
    expect_groups(total, {}, "no keys");
}

// No key and no aggregate: a group says that there are rows.
TEST_P(FragmentGroups, WithoutKeysOrAggregates) {
    for (uint64_t rows : {0, 100}) {
        TestGroups fragment(make_table({integers(10)}, rows, 2));
        let_through(fragment).spec().sink = SinkKind::Groups;
        Came came;
        expect_groups(fragment, {}, "nothing", &came);
        EXPECT_EQ(came.partial_groups, rows > 0);
    }
    TestGroups distinct(make_table({integers(10)}, 300, 3));
    let_through(distinct).input(source_column(0)).key(0);
    expect_groups(distinct, {}, "keys alone");
}

// Behind a chain of joins, with inputs of all stages.
TEST_P(FragmentGroups, BehindChains) {
    const ColumnPlan text{bytes_column(), 12, true, 0.1};
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left}) {
        TestGroups fragment(make_table({integers(60), integers(40), integers(30)}, 3000, 4));
        fragment.join(kind, make_table({integers(60), text, integers(15)}, 90, 5), {source_column(0)})
            .join(JoinKind::Semi, make_table({integers(40)}, 30, 6), {source_column(1)})
            .join(kind, make_table({integers(15), text}, 40, 7), {{0, 2}})
            .input({0, 1})
            .input({2, 1})
            .input(source_column(2))
            .input({0, 2})
            .key(0)
            .key(1);
        aggregate_integers(fragment, 2, 3);
        fragment.aggregate(Function::Any, 1).aggregate(Function::Any, 0);
        expect_groups(fragment, {}, name_of(kind));
        expect_groups(fragment, {.probe_batch = 200, .sink_bytes = 500}, name_of(kind));
    }
}

TEST_P(FragmentGroups, IntegersAtTheirLimits) {
    std::vector<std::optional<int64_t>> words;
    for (int i = 0; i < 1000; i++)
        words.emplace_back(i % 3 == 0 ? kLeast : i % 7 == 0 ? kGreatest : kLeast + i);
    words.emplace_back(std::nullopt);
    for (int keys : {0, 1}) {
        TestGroups fragment({{column_of_words(words), make_table({integers(4)}, 1001, 8).columns[0]}});
        let_through(fragment).input(source_column(0)).input(source_column(1));
        if (keys > 0) fragment.key(1);
        const uint16_t value = fragment.value_of_input(0);
        fragment.aggregate(Function::Sum, value)
            .aggregate(Function::Minimum, value)
            .aggregate(Function::Maximum, value);
        expect_groups(fragment, {}, "limits of integers");
    }
    // Sums of either sign, beyond 64 bits.
    for (int64_t word : {kLeast, kGreatest}) {
        TestGroups fragment({{column_of_words(std::vector<std::optional<int64_t>>(100'000, word))}});
        let_through(fragment).input(source_column(0));
        fragment.aggregate(Function::Sum, fragment.value_of_input(0));
        expect_groups(fragment, {.probe_batch = 30'000}, "sums beyond 64 bits");
    }
    // Nothing but NULLs.
    TestGroups fragment({{column_of_words({std::nullopt, std::nullopt})}});
    let_through(fragment).input(source_column(0));
    aggregate_integers(fragment, 0, 0);
    expect_groups(fragment, {}, "NULLs");
}

TEST_P(FragmentGroups, FloatsOfEveryKind) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::vector<std::optional<double>>> cases = {
        {1.5, -2.25, std::nullopt, 1e10, -0.5},
        {nan, 1.0},
        {1.0, nan, -infinity},
        {infinity, 5.0},
        {-infinity, infinity},
        {infinity, infinity, -1.0},
        {-infinity},
        {nan, nan},
        {std::nullopt},
        {0.0, 5e-324},
    };
    for (size_t i = 0; i < cases.size(); i++) {
        for (bool by_key : {false, true}) {
            TestGroups fragment({{column_of_doubles(cases[i]),
                                  column_of_words(std::vector<std::optional<int64_t>>(cases[i].size(), 7))}});
            let_through(fragment).input(source_column(0)).input(source_column(1));
            if (by_key) fragment.key(1);
            const uint16_t value = fragment.value_of_input(0, FilterType::Float64);
            FilterProgram program;
            ProgramWriter(program).probe(Opcode::Load, 0, FilterType::Float64).constant(Opcode::Greater, 0.0);
            const uint16_t filter = fragment.value(program);
            fragment.aggregate(Function::Sum, value)
                .aggregate(Function::Minimum, value)
                .aggregate(Function::Maximum, value)
                .aggregate(Function::Sum, value, filter)
                .aggregate(Function::Count, value)
                .aggregate(Function::Minimum, value, filter);
            expect_groups(fragment, {}, "floats " + std::to_string(i));
        }
    }
    // Of four bytes.
    TestGroups fragment(make_table(
        {{fixed_column(ColumnType::Fixed4, ValueOrder::Float), 100, false, 0.1}, integers(5)}, 1000, 9));
    let_through(fragment).input(source_column(0)).input(source_column(1)).key(1);
    const uint16_t value = fragment.value_of_input(0, FilterType::Float32);
    fragment.aggregate(Function::Sum, value)
        .aggregate(Function::Minimum, value)
        .aggregate(Function::Maximum, value);
    expect_groups(fragment, {}, "floats of four bytes");
}

// What is added up from -0 alone is -0, as in PostgreSQL, in one table or several.
TEST_P(FragmentGroups, FloatsOfMinusZero) {
    for (bool by_key : {false, true}) {
        TestGroups fragment({{column_of_doubles(std::vector<std::optional<double>>(500, -0.0)),
                              column_of_words(std::vector<std::optional<int64_t>>(500, 7))}});
        let_through(fragment).input(source_column(0)).input(source_column(1));
        if (by_key) fragment.key(1);
        const uint16_t value = fragment.value_of_input(0, FilterType::Float64);
        fragment.aggregate(Function::Sum, value)
            .aggregate(Function::Minimum, value)
            .aggregate(Function::Maximum, value);
        fragment.spec().completes_groups = 1;
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, limits(), &opened);
        std::vector<Values> groups;
        run_together(*opened, fragment, 100, [&](Cursor& cursor) { take_groups(cursor, fragment, &groups); });
        ASSERT_FALSE(groups.empty());
        for (const Values& group : groups)
            for (size_t i = by_key; i < group.size(); i++) EXPECT_EQ(group[i], value_of(-0.0));
    }
}

// A sum that leaves the range of floats is for the client to find out: no partial sum does.
TEST_P(FragmentGroups, PartialSumsOfFloatsStayFinite) {
    const double large = std::numeric_limits<double>::max();
    std::vector<std::optional<double>> numbers;
    for (int i = 0; i < 200; i++) numbers.emplace_back(i % 2 ? large : large / 3);
    TestGroups fragment({{column_of_doubles(numbers)}});
    let_through(fragment).input(source_column(0));
    fragment.aggregate(Function::Sum, fragment.value_of_input(0, FilterType::Float64));
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    OwnedBatch batch(fragment.source(), 0, 200);
    SinkMemory memory(4096);
    double total = 0;  // a part of it, which stays in the range
    auto read = [&](Cursor& cursor) {
        for (ResultBatch result; !result.done;) {
            ASSERT_OK(cursor.next(memory.sink(), &result));
            if (result.rows == 0) continue;
            for (const Values& group : read_values(fragment.columns(), memory.data(), result)) {
                double sum;
                std::memcpy(&sum, group[0]->data(), sizeof sum);
                EXPECT_TRUE(std::isfinite(sum));
                total += sum / 1024;
            }
        }
    };
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened->run(batch.view(), &cursor));
    read(*cursor);
    cursor.reset();
    ASSERT_OK(opened->flush(&cursor));
    read(*cursor);
    const double expected = 100 * (large / 1024 + large / 3 / 1024);
    EXPECT_NEAR(total / expected, 1.0, 1e-12);
}

// Values and filters that cannot be computed: a row whose filter is not true needs no value, whatever the
// order of the programs.
TEST_P(FragmentGroups, RowsEscape) {
    Table source = make_table({integers(8), integers(6), {bytes_column(), 9, true, 0.1}}, 3000, 10);
    std::vector<std::optional<int64_t>> words;
    for (int i = 0; i < 3000; i++)
        words.emplace_back(i % 10 == 0 ? kGreatest : i % 17 == 0 ? std::nullopt : std::optional<int64_t>(i));
    source.columns.push_back(column_of_words(words));
    for (int order = 0; order < 2; order++) {
        TestGroups fragment(source);
        let_through(fragment);
        for (uint16_t c = 0; c < 4; c++) fragment.input(source_column(c));
        fragment.key(1).key(2);
        FilterProgram quotient, positive, sum, by_quotient;
        ProgramWriter(quotient).constant(Opcode::Load, int64_t{100}).probe(Opcode::Divide, 0);
        ProgramWriter(positive).probe(Opcode::Load, 0).constant(Opcode::Greater, int64_t{0});
        ProgramWriter(sum).probe(Opcode::Load, 3).probe(Opcode::Add, 1);
        ProgramWriter(by_quotient)
            .constant(Opcode::Load, int64_t{7})
            .probe(Opcode::Modulo, 1)
            .constant(Opcode::Equal, int64_t{1});
        uint16_t numbers[4];
        const FilterProgram* programs[] = {&quotient, &positive, &sum, &by_quotient};
        for (int i = 0; i < 4; i++) {
            const int which = order ? 3 - i : i;
            numbers[which] = fragment.value(*programs[which]);
        }
        fragment.aggregate(Function::Sum, numbers[0], numbers[1])
            .aggregate(Function::Count)
            .aggregate(Function::Sum, numbers[2])
            .aggregate(Function::Maximum, numbers[2], numbers[3]);
        Came came;
        expect_groups(fragment, {}, "escapes", &came);
        EXPECT_GT(came.escaped.size(), 100u);
        EXPECT_LT(came.escaped.size(), 2500u);
        expect_groups(fragment, {.probe_batch = 77, .sink_bytes = 300}, "escapes, small");
    }
    // All of them.
    TestGroups fragment(source);
    let_through(fragment).input(source_column(0)).input(source_column(2));
    FilterProgram program;
    ProgramWriter(program).probe(Opcode::Load, 0).constant(Opcode::Divide, int64_t{0});
    fragment.aggregate(Function::Sum, fragment.value(program));
    expect_groups(fragment, {.probe_batch = 3000}, "all escape");
    for (int keys : {0, 1}) {
        TestGroups others({{column_of_words({1, 2, 3})}});
        let_through(others).input(source_column(0));
        if (keys > 0) others.key(0);
        others.aggregate(Function::Sum, others.value(program));
        expect_groups(others, {}, "and there is no group");
    }
}

// More groups than a table holds: it is given out in between, and no group gets lost.
TEST_P(FragmentGroups, TablesThatOverflow) {
    const uint64_t rows = 700'000;
    TestGroups fragment({{number_column(rows)}});
    let_through(fragment).input(source_column(0)).key(0);
    fragment.aggregate(Function::Count).aggregate(Function::Sum, fragment.value_of_input(0));
    // What an engine on a device would take for all of them is more.
    Ledger device(uint64_t{24} << 20);
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, {&host_memory_, &device, &cancel_}, &opened);
    std::vector<uint8_t> seen(rows);
    uint64_t early = 0;
    SinkMemory memory(1 << 20);
    auto read = [&](Cursor& cursor) {
        uint64_t groups = 0;
        for (ResultBatch result; !result.done;) {
            ASSERT_OK(cursor.next(memory.sink(), &result));
            if (result.rows == 0) continue;
            const auto* keys = reinterpret_cast<const int64_t*>(memory.data() + result.columns[0].values);
            const auto* counts = reinterpret_cast<const int64_t*>(memory.data() + result.columns[1].values);
            const auto* sums = reinterpret_cast<const __int128*>(memory.data() + result.columns[2].values);
            for (uint32_t i = 0; i < result.rows; i++) {
                seen[static_cast<size_t>(keys[i])]++;
                ASSERT_TRUE(counts[i] == 1 && sums[i] == keys[i]);
            }
            groups += result.rows;
        }
        early += groups;
    };
    for (uint64_t first = 0; first < rows; first += 100'000) {
        OwnedBatch batch(fragment.source(), first, 100'000);
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(opened->run(batch.view(), &cursor));
        read(*cursor);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(early, 0u);
    EXPECT_LT(early, rows);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened->flush(&cursor));
    read(*cursor);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<int64_t>(rows));
    EXPECT_GT(opened->sink_stats().peak_memory, 1u << 20);
}

// With little memory groups come out more often, and are the same.
TEST_P(FragmentGroups, LittleMemory) {
    TestGroups fragment(
        make_table({{fixed_column(ColumnType::Fixed8), 400}, {bytes_column(), 20, true}}, 6000, 11));
    let_through(fragment).input(source_column(0)).input(source_column(1)).key(0).key(1);
    aggregate_integers(fragment, 0, 0);
    fragment.aggregate(Function::Any, 1);
    bool comes_early = false;
    expect_groups_with_little_memory(fragment, 16 << 10, kIsSanitized ? 2 : 8, &comes_early);
    EXPECT_TRUE(comes_early);
}

// New groups come between rows of groups that there are, which an engine may add before it finds no room.
TEST_P(FragmentGroups, LittleMemoryForNewGroups) {
    std::vector<std::optional<int64_t>> keys;
    for (int i = 0; i < 20'000; i++) keys.emplace_back(i > 1500 && i % 6 == 0 ? 1000 + i : i % 30);
    Table source = make_table({integers(100), {bytes_column(), 40, true}}, keys.size(), 12);
    source.columns.push_back(column_of_words(keys));
    TestGroups fragment(source);
    for (uint16_t c = 0; c < 3; c++) fragment.input(source_column(c));
    fragment.key(2);
    aggregate_integers(fragment, 0, 0);
    fragment.aggregate(Function::Any, 1);
    expect_groups_with_little_memory(fragment, 16 << 10, kIsSanitized ? 2 : 8);
}

// The same in one batch of many rows, of which fewer go at a time before groups are given out. Groups have
// texts; the new ones come late, and between others.
TEST_P(FragmentGroups, LittleMemoryForManyRows) {
    const int rows = kIsSanitized ? 70'000 : 150'000;
    std::vector<std::optional<int64_t>> keys;
    Column texts{bytes_column(), {}};
    for (int i = 0; i < rows; i++) {
        const bool is_new = i > rows / 2 && i % 6 == 0;
        keys.emplace_back(is_new ? 1000 + i : i % 30);
        texts.values.emplace_back(std::string(is_new ? 40 : 3, static_cast<char>('a' + i % 30 % 26)));
    }
    Table source{{column_of_words(keys), texts}};
    TestGroups fragment(source);
    fragment.input(source_column(0)).input(source_column(1)).key(0);
    const uint16_t value = fragment.value_of_input(0);
    fragment.aggregate(Function::Count).aggregate(Function::Sum, value).aggregate(Function::Any, 1);
    expect_groups_with_little_memory(fragment, 256 << 10, kIsSanitized ? 1 : 3);
}

// A build side may have taken all of it: there is room for the first groups nevertheless, also of long texts.
TEST_P(FragmentGroups, NoMemoryLeft) {
    for (size_t length : {10u, 5'000u, 200'000u}) {
        Table source = make_table({integers(100)}, 150, 12);
        Column texts{bytes_column(), {}};
        for (size_t i = 0; i < 150; i++)
            texts.values.emplace_back(std::string(length + i % 7, static_cast<char>('a' + i % 26)));
        source.columns.push_back(texts);
        TestGroups fragment(source);
        let_through(fragment).input(source_column(0)).input(source_column(1)).key(0).key(1);
        aggregate_integers(fragment, 0, 0);
        fragment.aggregate(Function::Any, 1);
        Ledger host(64u << 20), device(256u << 20);
        std::unique_ptr<Fragment> opened;
        open_fragment(*engine_, fragment, {&host, &device, &cancel_}, &opened);
        const uint64_t left = host.limit() - host.used();
        ASSERT_TRUE(host.charge(left));
        OwnedBatch batch(fragment.source(), 0, fragment.source().rows());
        std::unique_ptr<Cursor> cursor;
        Came came;
        ASSERT_OK(opened->run(batch.view(), &cursor));
        drain_groups(*cursor, fragment, 1 << 20, &came);
        ASSERT_OK(opened->flush(&cursor));
        drain_groups(*cursor, fragment, 1 << 20, &came);
        expect_same_groups(fragment, came, std::to_string(length) + " bytes at most");
        cursor.reset();
        opened.reset();
        EXPECT_EQ(host.used(), left);
    }
}

TEST_P(FragmentGroups, SeveralThreadsAndRewinds) {
    TestGroups fragment(make_table({integers(300), integers(100)}, 8000, 12));
    fragment.join(JoinKind::Inner, make_table({integers(300), integers(9)}, 500, 13), {source_column(0)})
        .input({0, 1})
        .input(source_column(1))
        .key(0);
    aggregate_integers(fragment, 1, 0);
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    for (int round = 0; round < 3; round++) {
        Came came[4], all;
        std::vector<std::thread> threads;
        for (uint64_t t = 0; t < 4; t++)
            threads.emplace_back([&, t] {
                for (uint64_t first = t * 2000; first < (t + 1) * 2000; first += 500) {
                    OwnedBatch batch(fragment.source(), first, 500);
                    std::unique_ptr<Cursor> cursor;
                    EXPECT_OK(opened->run(batch.view(), &cursor));
                    drain_groups(*cursor, fragment, 20'000, &came[t]);
                }
            });
        for (std::thread& thread : threads) thread.join();
        for (const Came& part : came) EXPECT_TRUE(part.groups.empty() && part.escaped.empty());
        if (round == 1) {  // what was aggregated is forgotten
            ASSERT_OK(opened->rewind());
            std::unique_ptr<Cursor> cursor;
            ASSERT_OK(opened->flush(&cursor));
            drain_groups(*cursor, fragment, 20'000, &all);
            EXPECT_TRUE(all.groups.empty());
            continue;
        }
        std::unique_ptr<Cursor> cursor;
        ASSERT_OK(opened->flush(&cursor));
        drain_groups(*cursor, fragment, 20'000, &all);
        expect_same_groups(fragment, all, "threads");
    }
}

TEST_P(FragmentGroups, Cancel) {
    TestGroups fragment(make_table({integers(300)}, 1000, 14));
    let_through(fragment).input(source_column(0)).key(0);
    std::unique_ptr<Fragment> opened;
    open_fragment(*engine_, fragment, limits(), &opened);
    OwnedBatch batch(fragment.source(), 0, 1000);
    std::unique_ptr<Cursor> cursor;
    ASSERT_OK(opened->run(batch.view(), &cursor));
    cancel_ = true;
    SinkMemory memory(4096);
    ResultBatch result;
    EXPECT_EQ(cursor->next(memory.sink(), &result).fault, Fault::Cancelled);
    cursor.reset();
    ASSERT_OK(opened->flush(&cursor));
    EXPECT_EQ(cursor->next(memory.sink(), &result).fault, Fault::Cancelled);
}

class AlwaysOver : public Turn {
  public:
    bool is_over() const override { return true; }
    void pass() override {}
    void step_aside(const std::function<void()>& wait) override { wait(); }
    bool is_quick() const override { return false; }
};

TEST_P(FragmentGroups, Turns) {
    TestGroups fragment(make_table({integers(3000), integers(100)}, 30'000, 15));
    fragment.join(JoinKind::Left, make_table({integers(3000)}, 3000, 16), {source_column(0)})
        .input(source_column(0))
        .input(source_column(1))
        .key(1);
    aggregate_integers(fragment, 0, 1);
    AlwaysOver turn;
    const TurnScope scope(&turn);
    expect_groups(fragment, {.probe_batch = 30'000}, "turns");
}

GPUJOIN_FOR_EACH_ENGINE_AND_TWO(FragmentGroups);

}  // namespace
}  // namespace gpujoin::test
