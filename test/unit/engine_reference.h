// What the engine tests share: columns made by hand, batches and specs built from them, and a join written as
// plainly as can be, which says what every engine must give.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace gpujoin::test {

// A value as its bytes; nullopt: NULL.
using Value = std::optional<std::string>;

template <typename T>
Value value_of(T number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

struct Column {
    ColumnSpec spec;
    std::vector<Value> values;
};

// An input of a join: columns of equal length.
struct Table {
    std::vector<Column> columns;
    uint64_t rows() const { return columns.empty() ? 0 : columns[0].values.size(); }
};

// A batch with the memory its view points into: rows [first, first + rows) of a table.
class OwnedBatch {
  public:
    OwnedBatch(const Table& table, uint64_t first, uint64_t rows) : rows_(rows) {
        for (const Column& column : table.columns) add(column, first);
    }
    BatchView view() const { return {rows_, views_, Memory::Host}; }

  private:
    void add(const Column& column, uint64_t first) {
        bool variable = column.spec.type == ColumnType::Bytes;
        uint32_t width = fixed_width(column.spec.type);
        auto& bytes = buffer((variable ? 1 : rows_ * width) + 64);
        std::string data;
        auto& offsets = buffer(4 * (rows_ + 1));
        auto& validity = buffer((rows_ + 7) / 8 + 1);
        bool any_null = false;
        for (uint64_t i = 0; i < rows_; i++) {
            const Value& value = column.values[first + i];
            any_null |= !value;
            if (value) validity[i / 8] |= std::byte(1 << (i % 8));
            if (value && variable) data += *value;
            if (value && !variable) std::memcpy(&bytes[i * width], value->data(), width);
            uint32_t end = static_cast<uint32_t>(data.size());
            std::memcpy(&offsets[4 * (i + 1)], &end, 4);
        }
        if (variable) {
            bytes.resize(data.size() + 1);
            std::memcpy(bytes.data(), data.data(), data.size());
        }
        ColumnView view;
        view.validity = any_null ? reinterpret_cast<const uint8_t*>(validity.data()) : nullptr;
        view.values = variable ? nullptr : bytes.data();
        view.offsets = variable ? reinterpret_cast<const uint32_t*>(offsets.data()) : nullptr;
        view.data = variable ? bytes.data() : nullptr;
        view.data_bytes = data.size();
        views_.push_back(view);
    }
    std::vector<std::byte>& buffer(uint64_t bytes) {
        return *buffers_.emplace_back(std::make_unique<std::vector<std::byte>>(bytes));
    }

    uint64_t rows_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> buffers_;
    std::vector<ColumnView> views_;
};

// The memory of a sink, not a byte longer. It is not cleared: that would take longer than most of the joins.
class SinkMemory {
  public:
    explicit SinkMemory(uint64_t bytes)
        : bytes_(bytes), memory_(static_cast<std::byte*>(::operator new[](bytes, kAlignment))) {}
    uint64_t bytes() const { return bytes_; }
    std::byte* data() const { return memory_.get(); }
    Sink sink() const { return {data(), bytes_, Memory::Host}; }

  private:
    static constexpr std::align_val_t kAlignment{kBufferAlignment};
    struct Delete {
        void operator()(std::byte* memory) const { ::operator delete[](memory, kAlignment); }
    };
    uint64_t bytes_;
    std::unique_ptr<std::byte, Delete> memory_;
};

// The values of a row, known by a hash: tests make and sort millions of rows, and under a sanitizer each
// allocation and each comparison of bytes costs ten times what it costs without. A wrong row is taken for the
// right one once in 2^64.
class RowValues {
  public:
    void push_back(const Value& value) { value ? push_back(value->data(), value->size()) : push_null(); }
    void push_back(const char* bytes, size_t length) {
        add_length(static_cast<uint32_t>(length));
        hash_ = XXH3_64bits_withSeed(bytes, length, hash_);
    }
    void push_null() { add_length(~uint32_t{0}); }
    // Some order, in which equal rows are neighbours.
    auto operator<=>(const RowValues& other) const = default;

  private:
    void add_length(uint32_t length) { hash_ = XXH3_64bits_withSeed(&length, sizeof length, hash_); }

    uint64_t hash_ = 0;
};

inline RowValues values_of(const Table& table, uint64_t row) {
    RowValues values;
    for (const Column& column : table.columns) values.push_back(column.values[row]);
    return values;
}

// A result row: probe row number (-1: none is named), then the output columns and the carried ones.
struct ResultRow {
    int64_t probe_row;
    RowValues values;
    auto operator<=>(const ResultRow&) const = default;
};

// The output columns of a result in a sink, as values.
inline void read_result(const JoinSpec& spec, const std::byte* sink, const ResultBatch& result,
                        uint64_t first_probe_row, std::vector<ResultRow>* rows) {
    for (uint32_t i = 0; i < result.rows; i++) {
        ResultRow row{-1, {}};
        if (result.probe_rows != kNoBuffer) {
            uint32_t number;
            std::memcpy(&number, sink + result.probe_rows + 4 * i, 4);
            row.probe_row = static_cast<int64_t>(first_probe_row + number);
        }
        for (uint32_t c = 0; c < spec.outputs + spec.carried; c++) {
            const ColumnBuffers& buffers = result.columns[c];
            const ColumnSpec& column =
                c < spec.outputs ? spec.build[spec.output[c]] : spec.probe[spec.carry[c - spec.outputs]];
            const auto* validity = reinterpret_cast<const uint8_t*>(sink + buffers.validity);
            const auto* values = reinterpret_cast<const char*>(sink + buffers.values);
            uint32_t width = fixed_width(column.type);
            if (buffers.validity != kNoBuffer && !(validity[i / 8] >> (i % 8) & 1)) {
                row.values.push_null();
            } else if (width > 0) {
                row.values.push_back(values + i * width, width);
            } else {
                const auto* offsets = reinterpret_cast<const uint32_t*>(values);
                const auto* data = reinterpret_cast<const char*>(sink + buffers.data);
                row.values.push_back(data + offsets[i], offsets[i + 1] - offsets[i]);
            }
        }
        rows->push_back(row);
    }
}

// The order of two values of a column, written apart from the engine's: by type, not by order keys.
template <typename T>
int compare_numbers(const std::string& a, const std::string& b) {
    T x, y;
    std::memcpy(&x, a.data(), sizeof x);
    std::memcpy(&y, b.data(), sizeof y);
    bool x_nan = x != x, y_nan = y != y;
    if (x_nan || y_nan) return int(x_nan) - int(y_nan);
    return x < y ? -1 : x > y;
}

inline int compare_reference(const ColumnSpec& spec, const std::string& a, const std::string& b) {
    if (spec.order == ValueOrder::Bytes) return a < b ? -1 : a > b;  // compares as unsigned char
    bool is_signed = spec.order == ValueOrder::Signed;
    switch (spec.type) {
        case ColumnType::Fixed1:
            return is_signed ? compare_numbers<int8_t>(a, b) : compare_numbers<uint8_t>(a, b);
        case ColumnType::Fixed2:
            return is_signed ? compare_numbers<int16_t>(a, b) : compare_numbers<uint16_t>(a, b);
        case ColumnType::Fixed4:
            if (spec.order == ValueOrder::Float) return compare_numbers<float>(a, b);
            return is_signed ? compare_numbers<int32_t>(a, b) : compare_numbers<uint32_t>(a, b);
        case ColumnType::Fixed8:
            if (spec.order == ValueOrder::Float) return compare_numbers<double>(a, b);
            return is_signed ? compare_numbers<int64_t>(a, b) : compare_numbers<uint64_t>(a, b);
        case ColumnType::Fixed16:
            return is_signed ? compare_numbers<__int128>(a, b) : compare_numbers<unsigned __int128>(a, b);
        default:
            return 0;
    }
}

inline bool term_holds(const JoinSpec& spec, const Term& term, const Table& probe, uint64_t probe_row,
                       const Table& build, uint64_t build_row) {
    const Value& a = probe.columns[term.probe_column].values[probe_row];
    const Value& b = build.columns[term.build_column].values[build_row];
    if (!a || !b) return false;
    if (term.comparison == Comparison::Equal) return *a == *b;
    if (term.comparison == Comparison::NotEqual) return *a != *b;
    int order = compare_reference(spec.build[term.build_column], *a, *b);
    switch (term.comparison) {
        case Comparison::Less:
            return order < 0;
        case Comparison::LessEqual:
            return order <= 0;
        case Comparison::Greater:
            return order > 0;
        default:
            return order >= 0;
    }
}

inline bool rows_match(const JoinSpec& spec, const Table& probe, uint64_t probe_row, const Table& build,
                       uint64_t build_row) {
    auto all = [&](const Term* terms, uint32_t count) {
        return std::all_of(terms, terms + count, [&](const Term& term) {
            return term_holds(spec, term, probe, probe_row, build, build_row);
        });
    };
    return all(spec.equality, spec.equalities) && all(spec.range, spec.ranges) &&
           all(spec.filter, spec.filters);
}

// The joined rows, sorted: a nested loop over all pairs, or over those that `candidates` gives for a probe
// row.
template <typename Candidates>
std::vector<ResultRow> reference_join(const JoinSpec& spec, const Table& probe, const Table& build,
                                      const Candidates& candidates) {
    const JoinKind kind = spec.kind;
    auto row_of = [&](int64_t probe_row, std::optional<uint64_t> build_row) {
        ResultRow row{probe_row, {}};
        auto add = [&row](const Column& column, uint64_t number) {
            row.values.push_back(column.values[number]);
        };
        for (uint32_t c = 0; c < spec.outputs; c++)
            build_row ? add(build.columns[spec.output[c]], *build_row) : row.values.push_null();
        for (uint32_t c = 0; c < spec.carried; c++)
            probe_row >= 0 ? add(probe.columns[spec.carry[c]], static_cast<uint64_t>(probe_row))
                           : row.values.push_null();
        if (!spec.names_probe_rows) row.probe_row = -1;
        return row;
    };
    std::vector<ResultRow> rows;
    std::vector<bool> build_matched(build.rows());
    bool pairs = kind == JoinKind::Inner || kind == JoinKind::Left || kind == JoinKind::Right ||
                 kind == JoinKind::Full;
    for (uint64_t p = 0; p < probe.rows(); p++) {
        bool matched = false;
        for (uint64_t b : candidates(p)) {
            if (!rows_match(spec, probe, p, build, b)) continue;
            matched = build_matched[b] = true;
            if (pairs) rows.push_back(row_of(static_cast<int64_t>(p), b));
        }
        bool lonely = kind == JoinKind::Left || kind == JoinKind::Full || kind == JoinKind::Anti;
        if (matched ? kind == JoinKind::Semi : lonely)
            rows.push_back(row_of(static_cast<int64_t>(p), std::nullopt));
    }
    for (uint64_t b = 0; b < build.rows(); b++) {
        bool lonely = kind == JoinKind::Right || kind == JoinKind::Full || kind == JoinKind::RightAnti;
        if (build_matched[b] ? kind == JoinKind::RightSemi : lonely) rows.push_back(row_of(-1, b));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
}

}  // namespace gpujoin::test
