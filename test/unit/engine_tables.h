// Tables and specs for engine tests, from a seed.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine_reference.h"

namespace gpujoin::test {

using Random = std::mt19937_64;

// What the values of a made column are like.
struct ColumnPlan {
    ColumnSpec spec;
    uint64_t distinct;    // how many different values there may be
    bool spread = false;  // far apart from each other, rather than 0, 1, 2 ...
    double null_share = 0;
};

inline ColumnSpec fixed_column(ColumnType type, ValueOrder order = ValueOrder::Signed, bool nullable = true) {
    return {type, order, nullable, 0};
}
inline ColumnSpec bytes_column() {
    return {ColumnType::Bytes, ValueOrder::Bytes, 1, 0};
}

// The n-th value of a column: equal n give equal values.
inline Value nth_value(const ColumnPlan& plan, uint64_t n) {
    uint64_t bits = plan.spread ? n * 0x9e3779b97f4a7c15u : n;
    uint32_t width = fixed_width(plan.spec.type);
    if (plan.spec.order == ValueOrder::Float) {
        double number = static_cast<double>(static_cast<int64_t>(n) - 3) * (plan.spread ? 1.5e10 : 0.5);
        return width == 4 ? value_of(static_cast<float>(number)) : value_of(number);
    }
    if (width > 0) {
        std::string value(width, '\0');
        for (uint32_t i = 0; i < width; i++)
            value[i] = static_cast<char>(i < 8 ? bits >> (8 * i) : plan.spread ? n >> (i % 4) : 0);
        return value;
    }
    if (n == 0) return std::string();
    return (plan.spread ? "a common prefix, " : "") + std::to_string(bits) + std::string(n % 11, 'x');
}

inline Column make_column(const ColumnPlan& plan, uint64_t rows, Random& random) {
    Column column{plan.spec, {}};
    std::uniform_real_distribution<double> share(0, 1);
    for (uint64_t i = 0; i < rows; i++) {
        bool null = plan.spec.nullable && share(random) < plan.null_share;
        column.values.push_back(null ? std::nullopt : nth_value(plan, random() % plan.distinct));
    }
    return column;
}

// Row numbers as a column, so that every build row can be told from the others in results.
inline Column number_column(uint64_t rows) {
    Column column{fixed_column(ColumnType::Fixed8, ValueOrder::Signed, false), {}};
    for (uint64_t i = 0; i < rows; i++) column.values.push_back(value_of(int64_t(i)));
    return column;
}

// Texts of many lengths, with NULLs.
inline Column text_column(uint64_t rows) {
    Column column{bytes_column(), {}};
    for (uint64_t i = 0; i < rows; i++)
        column.values.push_back(i % 13 == 5 ? Value()
                                            : std::string(i * 7 % 40, static_cast<char>('a' + i % 26)));
    return column;
}

// A spec over two tables that gives back every build column. Terms are added by the functions below.
inline JoinSpec make_spec(JoinKind kind, Algorithm algorithm, const Table& probe, const Table& build) {
    JoinSpec spec{};
    spec.kind = kind;
    spec.algorithm = algorithm;
    spec.names_probe_rows = 1;
    spec.probe_columns = static_cast<uint16_t>(probe.columns.size());
    spec.build_columns = static_cast<uint16_t>(build.columns.size());
    spec.outputs = spec.build_columns;
    for (uint16_t i = 0; i < spec.probe_columns; i++) spec.probe[i] = probe.columns[i].spec;
    for (uint16_t i = 0; i < spec.build_columns; i++) {
        spec.build[i] = build.columns[i].spec;
        spec.output[i] = i;
    }
    return spec;
}

#ifdef __SANITIZE_THREAD__
inline constexpr ResultOrder kOrders[] = {ResultOrder::Ascending, ResultOrder::Any};  // see sanitized.h
#else
inline constexpr ResultOrder kOrders[] = {ResultOrder::Ascending, ResultOrder::Grouped, ResultOrder::Any};
#endif

// Asks for results in an order, with every probe column; in any order without naming probe rows.
inline void carry_all(JoinSpec& spec, ResultOrder order = ResultOrder::Any) {
    spec.order = order;
    spec.names_probe_rows = order != ResultOrder::Any;
    spec.estimated_probe_rows = ~uint32_t{0};
    for (uint16_t i = 0; i < spec.probe_columns; i++) spec.carry[spec.carried++] = i;
}

inline void add_equality(JoinSpec& spec, uint16_t probe, uint16_t build) {
    spec.equality[spec.equalities++] = {probe, build, Comparison::Equal, {}};
}
inline void add_range(JoinSpec& spec, uint16_t probe, Comparison comparison, uint16_t build) {
    spec.range[spec.ranges++] = {probe, build, comparison, {}};
}
// The same equalities, but for the first few, as pairs of ranges: what an index searches.
inline JoinSpec with_equalities_as_ranges(JoinSpec spec, uint16_t kept = 0) {
    for (uint16_t i = kept; i < spec.equalities; i++) {
        const Term& term = spec.equality[i];
        add_range(spec, term.probe_column, Comparison::GreaterEqual, term.build_column);
        add_range(spec, term.probe_column, Comparison::LessEqual, term.build_column);
    }
    spec.equalities = kept;
    return spec;
}
inline void add_filter(JoinSpec& spec, uint16_t probe, Comparison comparison, uint16_t build) {
    spec.filter[spec.filters++] = {probe, build, comparison, {}};
}

// Tables whose first columns follow the plans, on both sides alike; the build side also has a number and a
// text.
struct TablePair {
    Table probe;
    Table build;
};
inline TablePair make_tables(const std::vector<ColumnPlan>& plans, uint64_t probe_rows, uint64_t build_rows,
                             uint64_t seed) {
    Random random(seed);
    TablePair tables;
    for (const ColumnPlan& plan : plans) {
        tables.probe.columns.push_back(make_column(plan, probe_rows, random));
        tables.build.columns.push_back(make_column(plan, build_rows, random));
    }
    tables.build.columns.push_back(number_column(build_rows));
    tables.build.columns.push_back(text_column(build_rows));
    return tables;
}

// Tables for a band of a width on each of several columns: probe[2 i] <= build[i] <= probe[2 i + 1], values
// being in [0, 10000). The build side also has a number.
inline TablePair make_band_tables(const std::vector<int32_t>& widths, uint64_t probe_rows,
                                  uint64_t build_rows, double null_share = 0) {
    const ColumnPlan plan{fixed_column(ColumnType::Fixed4), 10000, false, null_share};
    Random random(1);
    TablePair tables;
    for (int32_t width : widths) {
        Column low = make_column(plan, probe_rows, random);
        Column high{low.spec, {}};
        for (const Value& value : low.values) {
            int32_t number = 0;
            if (value) std::memcpy(&number, value->data(), sizeof number);
            high.values.push_back(value ? Value(value_of(number + width)) : std::nullopt);
        }
        tables.probe.columns.push_back(low);
        tables.probe.columns.push_back(high);
        tables.build.columns.push_back(make_column(plan, build_rows, random));
    }
    tables.build.columns.push_back(number_column(build_rows));
    return tables;
}
inline void add_band(JoinSpec& spec, uint16_t number) {
    add_range(spec, static_cast<uint16_t>(2 * number), Comparison::LessEqual, number);
    add_range(spec, static_cast<uint16_t>(2 * number + 1), Comparison::GreaterEqual, number);
}

}  // namespace gpujoin::test
