// Conformance of the engines: ranges, filters and their combinations with equalities, in every kind of join
// with every algorithm, against the reference.
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "engine_harness.h"
#include "engine_tables.h"
#include "sanitized.h"

namespace gpujoin::test {
namespace {

constexpr Comparison kInequalities[] = {Comparison::Less, Comparison::LessEqual, Comparison::Greater,
                                        Comparison::GreaterEqual};

class RangeJoin : public EngineTest {
  protected:
    // Runs a spec's terms in the given kinds of join with every algorithm.
    void run(JoinSpec spec, const TablePair& tables, std::span<const JoinKind> kinds,
             const Pacing& pacing = {}, std::span<const Algorithm> algorithms = kAlgorithms) {
        const auto matches = matching_rows(spec, tables.probe, tables.build, all_rows(tables.build));
        for (JoinKind kind : kinds) {
            spec.kind = kind;
            auto expected = reference_join(spec, tables.probe, tables.build, matches);
            for (Algorithm algorithm : algorithms) {
                spec.algorithm = algorithm;
                std::vector<ResultRow> actual;
                run_join(*engine_, spec, limits(), tables.probe, tables.build, pacing, &actual);
                if (HasFatalFailure()) return;
                expect_same(expected, actual, describe(spec));
            }
        }
    }
    void run(const JoinSpec& spec, const TablePair& tables, std::initializer_list<JoinKind> kinds,
             const Pacing& pacing = {}) {
        run(spec, tables, std::span(kinds.begin(), kinds.size()), pacing);
    }
    void run_every_kind(const JoinSpec& spec, const TablePair& tables, const Pacing& pacing = {}) {
        run(spec, tables, kKinds, pacing);
    }
    // In every kind with each algorithm that does ranges itself.
    void run_searches(const JoinSpec& spec, const TablePair& tables) {
        constexpr Algorithm kSearches[] = {Algorithm::SortMerge, Algorithm::Index, Algorithm::NestedLoop};
        run(spec, tables, kKinds, {}, kSearches);
    }
};

JoinSpec spec_of(const TablePair& tables) {
    return make_spec(JoinKind::Inner, Algorithm::Auto, tables.probe, tables.build);
}

// A pair of tables with the same hand-picked values in one column, each on both sides.
TablePair tables_of(const ColumnSpec& column, const std::vector<Value>& values) {
    TablePair tables;
    tables.probe.columns.push_back({column, values});
    tables.build.columns.push_back({column, values});
    tables.build.columns.push_back(number_column(values.size()));
    return tables;
}

template <typename T>
std::vector<Value> edge_values() {
    using Limits = std::numeric_limits<T>;
    std::vector<Value> values{std::nullopt};
    for (T number : {Limits::lowest(), T(Limits::lowest() + 1), T(0), T(1), T(5), T(Limits::max() / 2),
                     T(Limits::max() - 1), Limits::max()})
        values.push_back(value_of(number));
    if constexpr (Limits::is_signed) values.push_back(value_of(T(-1)));
    if constexpr (!Limits::is_integer) {
        for (T number : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                         Limits::min(), T(-0.5)})
            values.push_back(value_of(number));
    }
    values.push_back(values[1]);
    return values;
}

// Every value order at its edges, each value against each, with every comparison.
TEST_P(RangeJoin, EdgesOfEveryOrder) {
    using enum ColumnType;
    std::vector<std::pair<ColumnSpec, std::vector<Value>>> cases = {
        {fixed_column(Fixed1, ValueOrder::Signed), edge_values<int8_t>()},
        {fixed_column(Fixed1, ValueOrder::Unsigned), edge_values<uint8_t>()},
        {fixed_column(Fixed2, ValueOrder::Signed), edge_values<int16_t>()},
        {fixed_column(Fixed2, ValueOrder::Unsigned), edge_values<uint16_t>()},
        {fixed_column(Fixed4, ValueOrder::Signed), edge_values<int32_t>()},
        {fixed_column(Fixed4, ValueOrder::Unsigned), edge_values<uint32_t>()},
        {fixed_column(Fixed4, ValueOrder::Float), edge_values<float>()},
        {fixed_column(Fixed4, ValueOrder::Bytes), edge_values<uint32_t>()},
        {fixed_column(Fixed8, ValueOrder::Signed), edge_values<int64_t>()},
        {fixed_column(Fixed8, ValueOrder::Unsigned), edge_values<uint64_t>()},
        {fixed_column(Fixed8, ValueOrder::Float), edge_values<double>()},
        {fixed_column(Fixed8, ValueOrder::Bytes), edge_values<uint64_t>()},
        {fixed_column(Fixed16, ValueOrder::Signed), edge_values<__int128>()},
        {fixed_column(Fixed16, ValueOrder::Unsigned), edge_values<unsigned __int128>()},
        {fixed_column(Fixed16, ValueOrder::Bytes), edge_values<unsigned __int128>()},
        {bytes_column(),
         {std::nullopt, "", std::string(1, '\0'), "a", "ab", "a longer text", "a longer texs",
          "a longer text with an end", "\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"}},
    };
    for (const auto& [column, values] : cases) {
        TablePair tables = tables_of(column, values);
        for (Comparison comparison : kInequalities) {
            SCOPED_TRACE("type " + std::to_string(int(column.type)) + ", order " +
                         std::to_string(int(column.order)) + ", comparison " +
                         std::to_string(int(comparison)));
            JoinSpec ranged = spec_of(tables);
            add_range(ranged, 0, comparison, 0);
            run(ranged, tables, {JoinKind::Left});
            JoinSpec filtered = spec_of(tables);
            add_filter(filtered, 0, comparison, 0);
            run(filtered, tables, {JoinKind::Inner});
        }
        JoinSpec unequal = spec_of(tables);
        add_filter(unequal, 0, Comparison::NotEqual, 0);
        run(unequal, tables, {JoinKind::Full});
    }
}

std::vector<ColumnPlan> integers(uint32_t columns, uint64_t distinct, double nulls = 0.05) {
    return std::vector<ColumnPlan>(columns, {fixed_column(ColumnType::Fixed4), distinct, false, nulls});
}

TEST_P(RangeJoin, OneSidedInEveryKind) {
    TablePair tables = make_tables(integers(1, 50), 90, 120, 1);
    for (Comparison comparison : kInequalities) {
        JoinSpec spec = spec_of(tables);
        add_range(spec, 0, comparison, 0);
        run_every_kind(spec, tables, {.sink_bytes = 5000});
    }
}

// probe[0] <= build[0] <= probe[1], where probe[1] is not always the larger.
TEST_P(RangeJoin, BandInEveryKind) {
    TablePair tables = make_tables(integers(2, 300), 150, 400, 2);
    for (bool strict : {false, true}) {
        JoinSpec spec = spec_of(tables);
        add_range(spec, 0, strict ? Comparison::Less : Comparison::LessEqual, 0);
        add_range(spec, 1, strict ? Comparison::Greater : Comparison::GreaterEqual, 0);
        run_every_kind(spec, tables);
    }
}

// build[0] <= probe[0] <= build[1]: a point in intervals, some of them reversed and empty.
TEST_P(RangeJoin, PointInIntervalInEveryKind) {
    TablePair tables = make_tables(integers(2, 1000), 150, 400, 3);
    JoinSpec spec = spec_of(tables);
    add_range(spec, 0, Comparison::GreaterEqual, 0);
    add_range(spec, 0, Comparison::LessEqual, 1);
    run_every_kind(spec, tables);
}

TEST_P(RangeJoin, OverlapInEveryKind) {
    TablePair tables = make_tables(integers(2, 1000), 120, 300, 4);
    JoinSpec spec = spec_of(tables);
    add_range(spec, 0, Comparison::Less, 1);
    add_range(spec, 1, Comparison::Greater, 0);
    run_every_kind(spec, tables);
}

// Intervals of every length and some that span everything, in an order of their own on each side.
TablePair interval_tables(const ColumnSpec& column, uint64_t rows, uint64_t seed) {
    Random random(seed);
    TablePair tables;
    for (Table* table : {&tables.probe, &tables.build}) {
        Column group{fixed_column(ColumnType::Fixed4), {}}, start{column, {}}, end{column, {}};
        for (uint64_t i = 0; i < rows; i++) {
            int64_t low = static_cast<int64_t>(random() % (2 * rows));
            int64_t high = low + static_cast<int64_t>(random() % 12) - 3;  // some are reversed
            if (i % 97 == 5) low = -1, high = static_cast<int64_t>(3 * rows);
            if (i % 101 == 7) std::swap(low, high);
            bool wide = column.type == ColumnType::Fixed16;
            auto value = [&](int64_t number) { return wide ? value_of(__int128{number}) : value_of(number); };
            group.values.push_back(i % 61 == 3 ? Value() : value_of(static_cast<int32_t>(random() % 3)));
            start.values.push_back(i % 43 == 1 ? Value() : value(low));
            end.values.push_back(i % 47 == 2 ? Value() : value(high));
        }
        table->columns = {start, end, group};
    }
    tables.build.columns.push_back(number_column(rows));
    return tables;
}

// Several levels of an index over intervals; either end may come first in the condition, and values may be
// wider than what an index can hold.
TEST_P(RangeJoin, LongAndReversedIntervals) {
    for (ColumnType type : {ColumnType::Fixed8, ColumnType::Fixed16}) {
        TablePair tables = interval_tables(fixed_column(type), 1100, 13);
        for (bool end_first : {false, true}) {
            JoinSpec overlap = spec_of(tables);
            if (end_first) add_range(overlap, 0, Comparison::LessEqual, 1);
            add_range(overlap, 1, Comparison::GreaterEqual, 0);
            if (!end_first) add_range(overlap, 0, Comparison::LessEqual, 1);
            run(overlap, tables, {JoinKind::Full, JoinKind::Anti}, {.sink_bytes = 100'000});
            JoinSpec point = spec_of(tables);
            add_range(point, 0, end_first ? Comparison::Less : Comparison::Greater, end_first);
            add_range(point, 0, end_first ? Comparison::Greater : Comparison::Less, !end_first);
            run(point, tables, {JoinKind::Left, JoinKind::RightSemi});
        }
    }
}

TEST_P(RangeJoin, EqualityAndInterval) {
    TablePair tables = interval_tables(fixed_column(ColumnType::Fixed8), 1000, 14);
    JoinSpec spec = spec_of(tables);
    add_equality(spec, 2, 2);
    add_range(spec, 1, Comparison::Greater, 0);
    add_range(spec, 0, Comparison::Less, 1);
    run_every_kind(spec, tables);
    add_filter(spec, 0, Comparison::NotEqual, 0);
    run(spec, tables, {JoinKind::Inner, JoinKind::Full, JoinKind::Semi});
}

TEST_P(RangeJoin, IntervalsOnOneSideOnly) {
    for (auto [probe_rows, build_rows] : {std::pair{0, 300}, {300, 0}, {300, 1}}) {
        TablePair tables = make_tables(integers(2, 100), probe_rows, build_rows, 15);
        JoinSpec spec = spec_of(tables);
        add_range(spec, 0, Comparison::GreaterEqual, 0);
        add_range(spec, 0, Comparison::LessEqual, 1);
        run_every_kind(spec, tables);
    }
}

TEST_P(RangeJoin, EqualityAndBandInEveryKind) {
    for (uint64_t groups : {1, 7, 1000}) {
        std::vector<ColumnPlan> plans = integers(3, 200);
        plans[0].distinct = groups;
        TablePair tables = make_tables(plans, 150, 250, 5 + groups);
        JoinSpec spec = spec_of(tables);
        add_equality(spec, 0, 0);
        add_range(spec, 1, Comparison::LessEqual, 1);
        add_range(spec, 2, Comparison::GreaterEqual, 1);
        run_every_kind(spec, tables);
    }
}

// All key layouts in front of a range, and a filter behind it.
TEST_P(RangeJoin, EqualityOfAnyTypeRangeAndFilter) {
    for (ColumnSpec key :
         {fixed_column(ColumnType::Fixed8), fixed_column(ColumnType::Fixed16), bytes_column()}) {
        std::vector<ColumnPlan> plans = integers(3, 60);
        plans[0] = {key, 8, true, 0.05};
        TablePair tables = make_tables(plans, 120, 160, 6);
        JoinSpec spec = spec_of(tables);
        add_equality(spec, 0, 0);
        add_range(spec, 1, Comparison::Less, 1);
        add_filter(spec, 2, Comparison::NotEqual, 2);
        run(spec, tables,
            {JoinKind::Inner, JoinKind::Full, JoinKind::Semi, JoinKind::Anti, JoinKind::RightSemi});
    }
}

// Bands on two columns, of which either may be the narrow one.
TEST_P(RangeJoin, BandsInTwoDimensions) {
    for (uint64_t distinct : {20, 2000}) {
        std::vector<ColumnPlan> plans = integers(4, 200);
        plans[0].distinct = plans[1].distinct = distinct;
        TablePair tables = make_tables(plans, 200, 300, 17);
        JoinSpec spec = spec_of(tables);
        add_range(spec, 0, Comparison::LessEqual, 0);
        add_range(spec, 1, Comparison::GreaterEqual, 0);
        add_range(spec, 2, Comparison::Less, 2);
        add_range(spec, 3, Comparison::Greater, 2);
        run_every_kind(spec, tables);
    }
}

// A wide and a narrow band, the terms of either first and interleaved, alone and with an equality.
TEST_P(RangeJoin, EitherOfTwoBandsFirst) {
    for (bool equality : {false, true}) {
        for (std::vector<int32_t> widths : {std::vector{5000, 30}, {30, 5000}}) {
            TablePair tables = make_band_tables(widths, 150, 400, 0.03);
            for (std::vector<uint16_t> order :
                 {std::vector<uint16_t>{0, 1, 2, 3}, {2, 3, 0, 1}, {1, 2, 0, 3}}) {
                JoinSpec spec = spec_of(tables);
                if (equality) add_equality(spec, 0, 0);
                for (uint16_t bound : order)
                    add_range(spec, bound, bound % 2 ? Comparison::GreaterEqual : Comparison::LessEqual,
                              bound / 2);
                run_every_kind(spec, tables, {.probe_batch = 60});
            }
        }
    }
}

// Three columns with ranges, one bounded on both sides, and a text.
TEST_P(RangeJoin, ManyRangesAndFilters) {
    std::vector<ColumnPlan> plans = integers(4, 40);
    plans[3] = {bytes_column(), 30, true, 0.1};
    TablePair tables = make_tables(plans, 150, 200, 7);
    JoinSpec spec = spec_of(tables);
    add_range(spec, 3, Comparison::LessEqual, 3);
    add_range(spec, 0, Comparison::GreaterEqual, 1);
    add_range(spec, 1, Comparison::Less, 2);
    add_range(spec, 2, Comparison::LessEqual, 1);
    add_filter(spec, 0, Comparison::NotEqual, 0);
    run_every_kind(spec, tables);
}

TEST_P(RangeJoin, TextAndDoubleDriveTheSearch) {
    for (ColumnPlan plan :
         {ColumnPlan{bytes_column(), 100, true, 0.1}, ColumnPlan{bytes_column(), 100, false, 0},
          ColumnPlan{fixed_column(ColumnType::Fixed8, ValueOrder::Float), 100, true, 0.1},
          ColumnPlan{fixed_column(ColumnType::Fixed16, ValueOrder::Bytes), 100, true, 0.1}}) {
        TablePair tables = make_tables({plan, plan}, 100, 150, 8);
        JoinSpec spec = spec_of(tables);
        add_range(spec, 0, Comparison::Less, 0);
        add_range(spec, 1, Comparison::GreaterEqual, 0);
        run(spec, tables, {JoinKind::Full, JoinKind::Anti});
    }
}

// More build rows than a nested loop looks at in one go; keys of both widths, and up to four columns.
TEST_P(RangeJoin, NestedLoopOverManyBuildRows) {
    for (ColumnType type : {ColumnType::Fixed2, ColumnType::Fixed8}) {
        std::vector<ColumnPlan> plans(4, {fixed_column(type), 3000, false, 0.02});
        TablePair tables = make_tables(plans, 70, 9001, 16);
        JoinSpec spec = spec_of(tables);
        spec.outputs = 5;  // not the text
        for (uint16_t columns = 1; columns <= 4; columns++) {
            uint16_t column = columns - 1;
            add_range(spec, column, column % 2 ? Comparison::Less : Comparison::GreaterEqual, column);
            if (columns == 2) add_filter(spec, 3, Comparison::NotEqual, 0);
            constexpr JoinKind kThree[] = {JoinKind::Full, JoinKind::Anti, JoinKind::RightSemi};
            constexpr Algorithm kNestedLoop[] = {Algorithm::NestedLoop};
            run(spec, tables, kThree, {.build_batch = 5000, .probe_batch = 40}, kNestedLoop);
        }
    }
}

TEST_P(RangeJoin, NoTermsAtAll) {
    TablePair tables = make_tables(integers(1, 10), 33, 70, 9);
    run_every_kind(spec_of(tables), tables, {.sink_bytes = 3000});
}

TEST_P(RangeJoin, AwkwardSizes) {
    for (uint64_t build_rows : {0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 1000}) {
        TablePair tables = make_tables(integers(2, 100), 33, build_rows, 10 + build_rows);
        JoinSpec spec = spec_of(tables);
        add_range(spec, 0, Comparison::GreaterEqual, 0);
        add_range(spec, 0, Comparison::LessEqual, 1);
        run(spec, tables, {JoinKind::Full, JoinKind::Anti});
    }
}

// probe[0] <= build[0] <= probe[1], a band that is a few values wide.
TablePair band_tables_of(const ColumnPlan& plan, uint64_t probe_rows, uint64_t build_rows) {
    Random random(probe_rows * 31 + build_rows);
    TablePair tables;
    tables.build.columns = {make_column(plan, build_rows, random), number_column(build_rows)};
    Column low{plan.spec, {}}, high = low;
    for (uint64_t i = 0; i < probe_rows; i++) {
        const uint64_t n = random() % plan.distinct;
        low.values.push_back(i % 20 == 7 ? Value() : nth_value(plan, n));
        high.values.push_back(i % 20 == 9 ? Value() : nth_value(plan, n + 3));
    }
    tables.probe.columns = {low, high};
    return tables;
}

// Values of every width, with every number of rows on both sides.
TEST_P(RangeJoin, AwkwardSizesOfEveryWidth) {
    using enum ColumnType;
    const ColumnPlan plans[] = {
        {fixed_column(Fixed1, ValueOrder::Unsigned), 250, false, 0.05},
        {fixed_column(Fixed2), 1000, false, 0.05},
        {fixed_column(Fixed4), 1000, false, 0.05},
        {fixed_column(Fixed4, ValueOrder::Float), 1000, true, 0.05},
        {fixed_column(Fixed8, ValueOrder::Unsigned), 1000, false, 0.05},
        {fixed_column(Fixed8, ValueOrder::Float), 1000, false, 0.05},
        {fixed_column(Fixed16), 1000, false, 0.05},
        {bytes_column(), 1000, true, 0.05},
    };
    const uint64_t sizes[] = {0, 1, 31, 32, 33, 600};
    for (const ColumnPlan& plan : plans) {
        if (kIsForThreads && plan.spec.type != Fixed4) continue;
        for (uint64_t probe_rows : sizes) {
            for (uint64_t build_rows : sizes) {
                SCOPED_TRACE("type " + std::to_string(static_cast<int>(plan.spec.type)) + ", order " +
                             std::to_string(static_cast<int>(plan.spec.order)) + ", " +
                             std::to_string(probe_rows) + " x " + std::to_string(build_rows) + " rows");
                TablePair tables = band_tables_of(plan, probe_rows, build_rows);
                JoinSpec spec = spec_of(tables);
                add_band(spec, 0);
                run_searches(spec, tables);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(RangeJoin, AllEqualAndAllNull) {
    for (double nulls : {0.0, 1.0}) {
        TablePair tables = make_tables(integers(1, 1, nulls), 60, 70, 11);
        for (Comparison comparison : kInequalities) {
            JoinSpec spec = spec_of(tables);
            add_range(spec, 0, comparison, 0);
            run(spec, tables, {JoinKind::Full, JoinKind::Semi});
        }
    }
}

// A band over 100,000 rows a side, and the same rows as intervals of which a few span everything. The
// reference looks only at rows near by.
TEST_P(RangeJoin, ManyRows) {
    const uint64_t rows = 100'000;
    Random random(12);
    TablePair tables;
    Column start{fixed_column(ColumnType::Fixed8), {}}, end = start, point = start, above = start;
    std::vector<std::pair<int64_t, uint64_t>> sorted;
    for (uint64_t i = 0; i < rows; i++) {
        auto low = static_cast<int64_t>(random() % (4 * rows));
        sorted.emplace_back(low, i);
        start.values.push_back(value_of(low));
        end.values.push_back(value_of(i < 3 ? std::numeric_limits<int64_t>::max() : low + 5));
        auto at = static_cast<int64_t>(random() % (4 * rows));
        point.values.push_back(value_of(at));
        above.values.push_back(value_of(at + 5));
    }
    std::sort(sorted.begin(), sorted.end());
    tables.probe.columns = {point, above};
    tables.build.columns = {start, end, number_column(rows)};
    auto near_by = [&](uint64_t probe_row) {
        int64_t at;
        std::memcpy(&at, point.values[probe_row]->data(), sizeof at);
        std::vector<uint64_t> found{0, 1, 2};
        auto it = std::lower_bound(sorted.begin(), sorted.end(), std::pair<int64_t, uint64_t>{at - 5, 0});
        for (; it != sorted.end() && it->first <= at + 5; ++it)
            if (it->second > 2) found.push_back(it->second);
        return found;
    };
    JoinSpec band = spec_of(tables);
    band.outputs = 0;
    band.output[band.outputs++] = 2;
    JoinSpec interval = band;
    add_range(band, 0, Comparison::LessEqual, 0);
    add_range(band, 1, Comparison::GreaterEqual, 0);
    add_range(interval, 0, Comparison::GreaterEqual, 0);
    add_range(interval, 0, Comparison::LessEqual, 1);
    for (JoinSpec* spec : {&band, &interval}) {
        spec->algorithm = Algorithm::Index;
        auto expected = reference_join(*spec, tables.probe, tables.build, near_by);
        for (Algorithm algorithm : {Algorithm::Index, Algorithm::SortMerge}) {
            if (spec == &interval && algorithm == Algorithm::SortMerge) continue;  // quadratic there
            spec->algorithm = algorithm;
            std::vector<ResultRow> actual;
            run_join(*engine_, *spec, limits(), tables.probe, tables.build, {40'000, 50'000, 1u << 20},
                     &actual);
            expect_same(expected, actual, describe(*spec));
        }
    }
}

// Bands at both ends of a type, over sides large enough for a search tree: many rows have the least and the
// greatest value there is, and the last node is not full.
template <typename T>
void make_ends(ColumnType type, uint64_t probe_rows, uint64_t build_rows, TablePair* tables) {
    constexpr T kLeast = std::numeric_limits<T>::min(), kGreatest = std::numeric_limits<T>::max();
    Random random(13);
    Column low{fixed_column(type), {}}, high = low, value = low;
    for (uint64_t i = 0; i < build_rows; i++)
        value.values.push_back(value_of(i < 70 ? kLeast : i < 140 ? kGreatest : static_cast<T>(random())));
    const T width = kGreatest / static_cast<T>(build_rows);
    for (uint64_t i = 0; i < probe_rows; i++) {
        T from = i < 40 ? kLeast : i < 80 ? kGreatest : static_cast<T>(random());
        T to = i % 2 && i < 80 ? from : from > kGreatest - width ? kGreatest : static_cast<T>(from + width);
        low.values.push_back(value_of(from));
        high.values.push_back(value_of(to));
    }
    tables->probe.columns = {low, high};
    tables->build.columns = {value, number_column(build_rows)};
}

// The build rows whose first column lies between a probe row's two.
template <typename T>
auto rows_between(const TablePair& tables) {
    auto number = [](const Column& column, uint64_t row) {
        T value;
        std::memcpy(&value, column.values[row]->data(), sizeof value);
        return value;
    };
    std::vector<std::pair<T, uint64_t>> sorted;
    for (uint64_t row = 0; row < tables.build.rows(); row++)
        sorted.emplace_back(number(tables.build.columns[0], row), row);
    std::sort(sorted.begin(), sorted.end());
    return [&tables, number, sorted = std::move(sorted)](uint64_t probe_row) {
        std::vector<uint64_t> found;
        T high = number(tables.probe.columns[1], probe_row);
        auto it = std::lower_bound(sorted.begin(), sorted.end(),
                                   std::pair{number(tables.probe.columns[0], probe_row), uint64_t{0}});
        for (; it != sorted.end() && it->first <= high; ++it) found.push_back(it->second);
        return found;
    };
}

TEST_P(RangeJoin, EndsOfLargeSides) {
    constexpr uint64_t kProbeRows = 20'000, kBuildRows = 70'001;
    for (ColumnType type : {ColumnType::Fixed4, ColumnType::Fixed8}) {
        TablePair tables;
        std::function<std::vector<uint64_t>(uint64_t)> between;
        if (type == ColumnType::Fixed4) {
            make_ends<int32_t>(type, kProbeRows, kBuildRows, &tables);
            between = rows_between<int32_t>(tables);
        } else {
            make_ends<int64_t>(type, kProbeRows, kBuildRows, &tables);
            between = rows_between<int64_t>(tables);
        }
        JoinSpec spec = spec_of(tables);
        spec.kind = JoinKind::Full;
        add_range(spec, 0, Comparison::LessEqual, 0);
        add_range(spec, 1, Comparison::GreaterEqual, 0);
        auto expected = reference_join(spec, tables.probe, tables.build, between);
        EXPECT_GT(expected.size(), 80u * 70u);
        for (Algorithm algorithm : {Algorithm::Index, Algorithm::SortMerge}) {
            spec.algorithm = algorithm;
            std::vector<ResultRow> actual;
            run_join(*engine_, spec, limits(), tables.probe, tables.build, {40'000, kProbeRows, 1u << 20},
                     &actual);
            expect_same(expected, actual, describe(spec));
        }
    }
}

GPUJOIN_FOR_EACH_ENGINE(RangeJoin);

}  // namespace
}  // namespace gpujoin::test
