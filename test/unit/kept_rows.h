// Rows for tests of kept columns: a batch made of vectors, and what a scan of such rows should give.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/kept/kept_view.h"

namespace gpujoin::test {

// A value is its bytes; nothing is NULL.
using KeptValue = std::optional<std::string>;
using KeptRow = std::vector<KeptValue>;

template <typename Integer>
KeptValue kept_integer(Integer value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline ChunkColumn kept_column(ColumnType type, ValueOrder order = ValueOrder::Signed, uint8_t name = 1) {
    return {{name}, {type, order, 1, 0}, 0};
}

// A batch of rows, in memory of its own.
class KeptBatch {
  public:
    KeptBatch(std::span<const ChunkColumn> columns, std::span<const KeptRow> rows)
        : columns_(columns.size()) {
        for (size_t i = 0; i < columns.size(); i++)
            fill(columns_[i], fixed_width(columns[i].spec.type), rows, i);
        for (const Column& column : columns_)
            views_.push_back({column.has_nulls ? column.validity.data() : nullptr, column.bytes.data(),
                              column.offsets.data(), column.bytes.data(), column.bytes.size()});
        rows_ = rows.size();
    }
    BatchView view() const { return {rows_, views_, Memory::Host}; }

  private:
    struct Column {
        std::vector<uint8_t> validity;
        std::vector<std::byte> bytes;
        std::vector<uint32_t> offsets{0};
        bool has_nulls = false;
    };

    static void fill(Column& column, uint32_t width, std::span<const KeptRow> rows, size_t number) {
        column.validity.resize(validity_bytes(rows.size()));
        for (size_t row = 0; row < rows.size(); row++) {
            const KeptValue& value = rows[row][number];
            if (value) column.validity[row / 8] |= static_cast<uint8_t>(1u << row % 8);
            column.has_nulls |= !value;
            const std::string bytes = value.value_or(std::string(width, '\0'));
            for (char byte : bytes) column.bytes.push_back(static_cast<std::byte>(byte));
            column.offsets.push_back(static_cast<uint32_t>(column.bytes.size()));
        }
        column.bytes.reserve(1);  // so that there is an address
    }

    std::vector<Column> columns_;
    std::vector<ColumnView> views_;
    uint64_t rows_ = 0;
};

inline std::vector<KeptRow> rows_of(const BatchView& batch, std::span<const ColumnSpec> specs) {
    std::vector<KeptRow> rows(batch.rows);
    for (size_t row = 0; row < batch.rows; row++)
        for (size_t i = 0; i < specs.size(); i++) {
            const ColumnView& view = batch.columns[i];
            const uint32_t width = fixed_width(specs[i].type);
            const uint64_t from = width ? uint64_t{width} * row : view.offsets[row];
            const uint64_t bytes = width ? width : view.offsets[row + 1] - view.offsets[row];
            const std::byte* start = (width ? view.values : view.data) + from;
            if (view.is_valid(row))
                rows[row].emplace_back(std::string(reinterpret_cast<const char*>(start), bytes));
            else
                rows[row].emplace_back();
        }
    return rows;
}

inline constexpr uint32_t kRowsOfBatch = 64u << 10;

// All of a scan's rows, and the most in a batch; a failure of the scan in *status.
inline std::vector<KeptRow> scan_rows(const KeptScan& scan, std::span<const ColumnSpec> source,
                                      Ledger* ledger, Status* status, uint64_t* most = nullptr) {
    std::vector<KeptRow> all;
    KeptPosition position;
    KeptRows rows(scan, position, source, kRowsOfBatch, ledger);
    for (;;) {
        BatchView batch;
        *status = rows.next(&batch);
        if (!status->ok() || batch.rows == 0) return all;
        if (most) *most = std::max<uint64_t>(*most, batch.rows);
        std::vector<KeptRow> some = rows_of(batch, source);
        all.insert(all.end(), some.begin(), some.end());
    }
}

// Of all its columns.
inline std::vector<KeptRow> rows_of_chunk(const KeptChunk& chunk) {
    KeptView view{{std::shared_ptr<const KeptChunk>(std::shared_ptr<void>(), &chunk)}, {}};
    std::vector<ColumnSpec> source;
    for (const KeptValues& values : chunk.columns()) {
        view.columns.push_back(&values);
        source.push_back(values.column.spec);
    }
    KeptScan scan;
    scan.add(std::move(view), chunk.blocks_with_rows(), 0);
    Ledger ledger(uint64_t{1} << 30);
    Status status;
    return scan_rows(scan, source, &ledger, &status);
}

}  // namespace gpujoin::test
