// Columns whose values lie close together, somewhere in the range of their type: what engines rebase and
// pack. Rebasing by itself, and joins of every kind with every algorithm against the reference, in which
// probe values lie inside the span of the build side's, next to it and far outside.
#include "engine/key_span.h"

#include "engine/compare.h"
#include "engine_harness.h"
#include "engine_tables.h"

namespace gpujoin::test {
namespace {

constexpr uint64_t kGreatest = ~uint64_t{0};

TEST(KeySpan, RebasingKeepsComparisons) {
    const std::vector<KeySpan> spans{{}, {0, 0}, {0, 5}, {7, 7}, {100, 228}, {kGreatest - 4, kGreatest}};
    for (const KeySpan& span : spans) {
        std::vector<uint64_t> keys{0,        1, 2, 6, 7, 8, 99, 100, 228, 229, kGreatest - 5, kGreatest - 1,
                                   kGreatest};
        for (uint64_t inside = span.first; inside - span.first < 9 && inside - 1 != span.last; inside++) {
            for (uint64_t key : keys) {
                EXPECT_EQ(key < inside, span.rebase(key) < span.rebase(inside)) << key << ", " << inside;
                EXPECT_EQ(key == inside, span.rebase(key) == span.rebase(inside)) << key << ", " << inside;
                EXPECT_LE(std::bit_width(span.rebase(key)), span.bits());
            }
        }
    }
    for (uint64_t key : {uint64_t{0}, uint64_t{1}, uint64_t{77}, kGreatest - 1, kGreatest})
        EXPECT_EQ(KeySpan{}.rebase(key), key);
    EXPECT_EQ((KeySpan{1000, 1000 + 253}.bits()), 8);
    EXPECT_EQ((KeySpan{1000, 1000 + 254}.bits()), 9);
}

TEST(KeyPlaces, NumberEveryCombinationOnce) {
    const KeySpan spans[] = {{10, 12}, {kGreatest - 4, kGreatest}, {0, 0}};
    KeyPlaces places = make_key_places(spans, 3);
    ASSERT_EQ(places.parts, 3u);
    EXPECT_EQ(places.last, 14u);
    std::vector<int> found(15);
    for (uint64_t a = 10; a <= 12; a++) {
        for (uint64_t b = 0; b < 5; b++) {
            uint64_t place = 0;
            ASSERT_TRUE(places.add(0, a, &place));
            ASSERT_TRUE(places.add(1, kGreatest - b, &place));
            ASSERT_TRUE(places.add(2, 0, &place));
            ASSERT_LE(place, 14u);
            found[place]++;
        }
    }
    EXPECT_EQ(found, std::vector<int>(15, 1));
    uint64_t place = 0;
    for (uint64_t outside : {uint64_t{0}, uint64_t{9}, uint64_t{13}, kGreatest})
        EXPECT_FALSE(places.add(0, outside, &place));
    EXPECT_FALSE(places.add(1, 0, &place));
    EXPECT_FALSE(places.add(2, 1, &place));
}

TEST(KeyPlaces, AreNotThereForTooManyKeys) {
    const KeySpan half{0, UINT32_MAX};
    const KeySpan spans[KeyPlaces::kMaxParts + 1] = {half, half};
    EXPECT_EQ(make_key_places(spans, 1).last, UINT32_MAX);
    EXPECT_EQ(make_key_places(spans, 2).parts, 0u);
    EXPECT_EQ(make_key_places(spans, KeyPlaces::kMaxParts + 1).parts, 0u);
    const KeySpan all{0, kGreatest}, all_but_one{1, kGreatest};
    EXPECT_EQ(make_key_places(&all, 1).parts, 0u);
    EXPECT_EQ(make_key_places(&all_but_one, 1).last, kGreatest - 1);
}

// The value of up to 8 bytes, or the text, that has an order key.
Value value_of_key(const ColumnSpec& column, uint64_t key) {
    uint32_t width = fixed_width(column.type);
    std::string big_endian;
    for (int i = 7; i >= 0; i--) big_endian += static_cast<char>(key >> (8 * i));
    if (width == 0) return big_endian;
    uint64_t sign = uint64_t{1} << (8 * width - 1);
    if (column.order == ValueOrder::Bytes) return big_endian.substr(8 - width);
    if (column.order == ValueOrder::Signed) key ^= sign;
    if (column.order == ValueOrder::Float) key = key & sign ? key ^ sign : ~key;
    return std::string(reinterpret_cast<const char*>(&key), width);
}

// Order keys of a column: the build side has `distinct` of them, `step` apart.
struct Close {
    ColumnSpec column;
    uint64_t first;
    uint64_t step;
    uint64_t distinct;
    // Of the type, as far as both sides agree on their bytes.
    uint64_t least = 0;
    uint64_t greatest = kGreatest;

    uint64_t last() const { return first + step * (distinct - 1); }
};

std::vector<Close> close_columns(uint64_t distinct) {
    using enum ColumnType;
    const uint64_t half = uint64_t{1} << 63;
    const uint64_t minus_infinity = 0x000f'ffff'ffff'ffff;
    std::vector<Close> cases;
    for (ValueOrder order : {ValueOrder::Signed, ValueOrder::Unsigned, ValueOrder::Bytes}) {
        ColumnSpec wide = fixed_column(Fixed8, order);
        for (uint64_t step : {uint64_t{1}, uint64_t{1} << 20, uint64_t{1} << 35}) {
            cases.push_back({wide, 0, step, distinct});
            cases.push_back({wide, half + 12345, step, distinct});
            cases.push_back({wide, kGreatest - step * (distinct - 1), step, distinct});
        }
        cases.push_back({wide, 0, kGreatest / (distinct - 1), distinct});
        ColumnSpec narrow = fixed_column(Fixed4, order);
        cases.push_back({narrow, 1'000'000'000, 1, distinct, 0, UINT32_MAX});
        cases.push_back({narrow, UINT32_MAX - distinct + 1, 1, distinct, 0, UINT32_MAX});
        cases.push_back({fixed_column(Fixed2, order), 1000, 1, distinct, 0, UINT16_MAX});
    }
    cases.push_back({fixed_column(Fixed8, ValueOrder::Float), half + 0x3ff0'0000'0000'0000, 1000, distinct,
                     minus_infinity});
    cases.push_back(
        {fixed_column(Fixed4, ValueOrder::Float), 0xbf80'0000, 1, distinct, 0x007fffff, UINT32_MAX});
    cases.push_back({bytes_column(), 0x6162'6364'6566'0000, 1, distinct});
    return cases;
}

// Keys of the build side; those of the probe side lie outside its span too.
std::vector<uint64_t> build_keys(const Close& close, uint64_t rows) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < rows; i++) keys.push_back(close.first + close.step * (i * 7 % close.distinct));
    return keys;
}
std::vector<uint64_t> probe_keys(const Close& close, uint64_t rows) {
    std::vector<uint64_t> outside{close.least, close.greatest};
    if (close.first > close.least) outside.push_back(close.first - 1);
    if (close.last() < close.greatest) outside.push_back(close.last() + 1);
    if (close.step > 1) outside.push_back(close.first + 1);
    std::vector<uint64_t> keys = build_keys(close, rows);
    for (uint64_t i = 0; i < rows; i += 3) keys[i] = outside[i / 3 % outside.size()];
    return keys;
}

Column column_of(const ColumnSpec& spec, const std::vector<uint64_t>& keys, uint64_t null_every) {
    Column column{spec, {}};
    for (uint64_t i = 0; i < keys.size(); i++)
        column.values.push_back(i % null_every == 1 ? Value() : value_of_key(spec, keys[i]));
    return column;
}

// Both sides have a column of each kind; the build side also has a number of four bytes.
TablePair close_tables(const std::vector<Close>& columns, uint64_t probe_rows, uint64_t build_rows,
                       bool nulls = true) {
    TablePair tables;
    uint64_t null_every = nulls ? 11 : kGreatest;
    for (const Close& close : columns) {
        tables.probe.columns.push_back(column_of(close.column, probe_keys(close, probe_rows), null_every));
        tables.build.columns.push_back(
            column_of(close.column, build_keys(close, build_rows), null_every + 2));
    }
    Column number{fixed_column(ColumnType::Fixed4, ValueOrder::Signed, false), {}};
    for (uint64_t i = 0; i < build_rows; i++) number.values.push_back(value_of(static_cast<int32_t>(i)));
    tables.build.columns.push_back(number);
    return tables;
}

class SpanJoin : public EngineTest {
  protected:
    // A spec in the given kinds of join with every algorithm, in every order of results.
    void run(JoinSpec spec, const TablePair& tables, const std::vector<JoinKind>& kinds) {
        const auto matches = matching_rows(spec, tables.probe, tables.build, all_rows(tables.build));
        for (JoinKind kind : kinds) {
            for (ResultOrder order : kOrders) {
                JoinSpec ordered = spec;
                ordered.kind = kind;
                if (order != ResultOrder::Ascending) carry_all(ordered, order);
                auto expected = reference_join(ordered, tables.probe, tables.build, matches);
                for (Algorithm algorithm : kAlgorithms) {
                    ordered.algorithm = algorithm;
                    std::vector<ResultRow> actual;
                    run_join(*engine_, ordered, limits(), tables.probe, tables.build, {.probe_batch = 40},
                             &actual);
                    if (HasFatalFailure()) return;
                    expect_same(expected, actual, describe(ordered));
                }
            }
        }
    }
    static std::string name_of_case(const Close& close) {
        return "type " + std::to_string(int(close.column.type)) + ", order " +
               std::to_string(int(close.column.order)) + ", from " + std::to_string(close.first) + " by " +
               std::to_string(close.step);
    }
};

JoinSpec spec_of(const TablePair& tables) {
    return make_spec(JoinKind::Inner, Algorithm::Auto, tables.probe, tables.build);
}

// The only output is the build side's number, which an engine may hold in the place of row numbers.
void give_number_only(JoinSpec* spec, const TablePair& tables, uint16_t column) {
    spec->outputs = 1;
    spec->output[0] = column;
    spec->estimated_probe_rows = tables.build.rows();
}

TEST_P(SpanJoin, EqualKeys) {
    for (const Close& close : close_columns(40)) {
        SCOPED_TRACE(name_of_case(close));
        TablePair tables = close_tables({close}, 90, 60);
        JoinSpec spec = spec_of(tables);
        add_equality(spec, 0, 0);
        run(spec, tables, {JoinKind::Inner, JoinKind::Full, JoinKind::Anti});
    }
}

TEST_P(SpanJoin, EveryComparison) {
    using enum Comparison;
    for (const Close& close : close_columns(40)) {
        for (Comparison comparison : {Less, LessEqual, Greater, GreaterEqual}) {
            SCOPED_TRACE(name_of_case(close) + ", comparison " + std::to_string(int(comparison)));
            bool nulls = comparison == LessEqual || comparison == Greater;
            TablePair tables = close_tables({close}, 50, 60, nulls);
            JoinSpec spec = spec_of(tables);
            add_range(spec, 0, comparison, 0);
            run(spec, tables, {nulls ? JoinKind::Full : JoinKind::Inner});
        }
    }
}

// Between two probe columns; with an equality as well, whose rows are few or many.
TEST_P(SpanJoin, Bands) {
    const ColumnSpec number = fixed_column(ColumnType::Fixed4);
    for (const Close& close : close_columns(40)) {
        SCOPED_TRACE(name_of_case(close));
        TablePair tables = close_tables({close, close}, 60, 50);
        auto& low = tables.probe.columns[0].values;
        std::rotate(low.begin(), low.begin() + 5, low.end());
        JoinSpec band = spec_of(tables);
        add_range(band, 0, Comparison::LessEqual, 0);
        add_range(band, 1, Comparison::Greater, 0);
        run(band, tables, {JoinKind::Inner, JoinKind::Left, JoinKind::RightAnti});
        for (uint64_t groups : {3, 1000}) {
            TablePair grouped = tables;
            Random random(groups);
            for (Table* table : {&grouped.probe, &grouped.build})
                table->columns.push_back(make_column({number, groups}, table->rows(), random));
            JoinSpec spec = spec_of(grouped);
            add_equality(spec, 2, static_cast<uint16_t>(spec.build_columns - 1));
            add_range(spec, 0, Comparison::LessEqual, 0);
            add_range(spec, 1, Comparison::Greater, 0);
            run(spec, grouped, {JoinKind::Full, JoinKind::Semi});
            give_number_only(&spec, grouped, 1);
            run(spec, grouped, {JoinKind::Inner});
        }
        give_number_only(&band, tables, 1);
        run(band, tables, {JoinKind::Inner});
    }
}

// Keys of several columns: such whose values together make a key of 4 bytes, of 8, and such that make none.
TEST_P(SpanJoin, KeysOfSeveralColumns) {
    using enum ColumnType;
    auto close = [](ColumnType type, uint64_t first, uint64_t step, uint64_t distinct) {
        return Close{fixed_column(type), first, step, distinct};
    };
    const uint64_t half = uint64_t{1} << 63;
    const Close near = close(Fixed8, half + 1'000'000, 1, 5), other = close(Fixed8, half - 3, 1, 4);
    const Close wide = close(Fixed8, half, uint64_t{1} << 38, 3), all = close(Fixed8, 0, kGreatest / 4, 5);
    const Close narrow{fixed_column(Fixed4), 3'000'000'000, 1, 3, 0, UINT32_MAX};
    const Close small{fixed_column(Fixed2), 40'000, 1, 3, 0, UINT16_MAX};
    const Close text{bytes_column(), 0x6162'6364'6566'0000, 1, 3};
    const Close real{fixed_column(Fixed8, ValueOrder::Float), half + 0x3ff0'0000'0000'0000, 1000, 4,
                     0x000f'ffff'ffff'ffff};
    const Close octets{fixed_column(Fixed8, ValueOrder::Bytes), 0x0102'0304'0506'0708, 1, 4};
    std::vector<std::vector<Close>> cases{
        {near, other},         {near, narrow},  {small, near, other},
        {wide, near},          {wide, wide},    {wide, small},
        {all, near},           {narrow, small}, {near, other, wide},
        {small, small, small}, {near, text},    {near, near, near, near, near, near},
        {real, near},          {octets, small}, {octets, real, narrow},
    };
    cases.emplace_back(KeyPlaces::kMaxParts, small);
    cases.emplace_back(KeyPlaces::kMaxParts + 1, small);
    for (size_t i = 0; i < cases.size(); i++) {
        for (bool nulls : {true, false}) {
            SCOPED_TRACE("case " + std::to_string(i) + (nulls ? ", nulls" : ""));
            TablePair tables = close_tables(cases[i], 70, 60, nulls);
            JoinSpec spec = spec_of(tables);
            for (uint16_t column = 0; column < cases[i].size(); column++) add_equality(spec, column, column);
            run(spec, tables,
                {JoinKind::Inner, JoinKind::Left, JoinKind::Full, JoinKind::Anti, JoinKind::RightSemi});
            if (nulls) continue;
            give_number_only(&spec, tables, static_cast<uint16_t>(spec.build_columns - 1));
            run(spec, tables, {JoinKind::Inner});
        }
    }
}

// No build row has a value.
TEST_P(SpanJoin, NoBuildKeys) {
    for (const Close& close : close_columns(40)) {
        TablePair tables = close_tables({close}, 30, 20);
        for (Value& value : tables.build.columns[0].values) value.reset();
        JoinSpec equal = spec_of(tables);
        add_equality(equal, 0, 0);
        run(equal, tables, {JoinKind::Full});
        JoinSpec ranged = spec_of(tables);
        add_range(ranged, 0, Comparison::Less, 0);
        run(ranged, tables, {JoinKind::Full});
    }
}

// So many rows that spans are sampled, with one that lies outside of what a sample sees.
TEST_P(SpanJoin, OneKeyFarAway) {
    constexpr int64_t kRows = 150'000;
    constexpr int64_t kBase = 1'700'000'000'000'000;
    for (int64_t away : {int64_t{0}, int64_t{1} << 40, std::numeric_limits<int64_t>::max() - kBase - kRows}) {
        TablePair tables;
        Column key{fixed_column(ColumnType::Fixed8, ValueOrder::Signed, false), {}};
        for (int64_t i = 0; i < kRows; i++) key.values.push_back(value_of(kBase + i));
        key.values[kRows / 2 + 1] = value_of(kBase + kRows + away);
        tables.build.columns = {key, number_column(kRows)};
        Column probe{key.spec, {}};
        for (int64_t i = 0; i < 2000; i++) probe.values.push_back(value_of(kBase + 100 * i));
        probe.values[3] = value_of(kBase + kRows + away);
        probe.values[4] = value_of(std::numeric_limits<int64_t>::max());
        probe.values[5] = value_of(std::numeric_limits<int64_t>::lowest());
        tables.probe.columns = {probe, probe};
        JoinSpec equal = spec_of(tables);
        equal.kind = JoinKind::Left;
        add_equality(equal, 0, 0);
        auto matches = equal_rows(tables.probe, tables.build, 1);
        auto expected = reference_join(equal, tables.probe, tables.build, matches);
        JoinSpec ranged = spec_of(tables);
        ranged.kind = JoinKind::Left;
        add_range(ranged, 0, Comparison::LessEqual, 0);
        add_range(ranged, 1, Comparison::GreaterEqual, 0);
        for (const JoinSpec& spec : {equal, ranged}) {
            for (Algorithm algorithm : {Algorithm::Hash, Algorithm::SortMerge, Algorithm::Index}) {
                JoinSpec forced = spec;
                forced.algorithm = algorithm;
                std::vector<ResultRow> actual;
                run_join(*engine_, forced, limits(), tables.probe, tables.build,
                         {.build_batch = kRows, .probe_batch = 2000}, &actual);
                if (HasFatalFailure()) return;
                expect_same(expected, actual, describe(forced));
            }
        }
    }
}

GPUJOIN_FOR_EACH_ENGINE(SpanJoin);

}  // namespace
}  // namespace gpujoin::test
