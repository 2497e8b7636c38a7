// RowStore: rows that are kept, column by column, in one piece of memory which doubles as they become more,
// and a piece for each column of values of any length. NULLs have a flag each, and zero bytes.
#pragma once

#include <vector>

#include "engine/cpu/columns/column_source.h"
#include "engine/cpu/memory/host_array.h"

namespace gpujoin {

class RowStore {
  public:
    RowStore(Ledger* ledger, const std::vector<ColumnSpec>& columns);

    // Makes room for so many more rows, and so many bytes of values of any length in each such column.
    // Nothing changes where it is refused.
    Status make_room(uint64_t rows);
    Status make_data_room(uint32_t column, uint64_t bytes);
    // The same where there is no row yet, for the first few, and for so many bytes: what the ledger refuses
    // is not charged.
    Status make_first_room();
    Status make_first_data_room(uint32_t column, uint64_t bytes);

    // Writes a column of the next rows, for which there is room. rows: which ones of the source; nullptr: the
    // first ones.
    void write(uint32_t column, const cpu::ColumnSource& from, const uint32_t* rows, uint32_t count);
    // Adds so many rows, whose columns are all written.
    void add(uint32_t rows) { rows_ += rows; }
    void clear() { rows_ = 0; }

    uint32_t rows() const { return rows_; }
    uint64_t capacity() const { return capacity_; }
    // Bytes of values of any length in the rows that were added.
    uint64_t data_bytes(uint32_t column) const { return rows_ > 0 ? offsets(column)[rows_] : 0; }

    template <typename T>
    T* values(uint32_t column) const {
        return reinterpret_cast<T*>(memory_.as<std::byte>() + columns_[column].values);
    }
    // A byte a row, 1 = NULL; nullptr where the column is not nullable.
    uint8_t* null_flags(uint32_t column) const {
        const StoredColumn& stored = columns_[column];
        return stored.spec.nullable ? memory_.as<uint8_t>() + stored.null_flags : nullptr;
    }
    cpu::ColumnSource source(uint32_t column) const;
    const ColumnSpec& spec(uint32_t column) const { return columns_[column].spec; }
    uint32_t columns() const { return static_cast<uint32_t>(columns_.size()); }

  private:
    struct StoredColumn {
        ColumnSpec spec;
        uint64_t values;  // where they begin in the memory: values, or offsets
        uint64_t null_flags;
        cpu::HostArray data;
        uint64_t data_room;
    };

    uint64_t* offsets(uint32_t column) const { return values<uint64_t>(column); }
    Status grow(uint64_t capacity, Ledger* ledger);
    Status grow_data(StoredColumn& stored, uint64_t room);

    Ledger* const ledger_;
    std::vector<StoredColumn> columns_;
    cpu::HostArray memory_;
    uint64_t capacity_ = 0;
    uint32_t rows_ = 0;
};

}  // namespace gpujoin
