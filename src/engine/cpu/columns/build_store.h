// BuildStore: the build rows as they were appended, column by column. Arrays grow in place, so an append is a
// copy of the batch and nothing else; several threads append at once, each into the range of rows it was
// given. This engine knows rows by where they are stored, and looks their numbers up only where callers name
// rows or are named some.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/cpu/columns/column_source.h"
#include "engine/cpu/memory/host_array.h"
#include "engine/engine.h"
#include "engine/row_numbers.h"

namespace gpujoin::cpu {

class BuildStore {
  public:
    // Rows are known by 32 bits, and the last value means "no build row".
    static constexpr uint64_t kMaxRows = ~uint32_t{0} - 1;

    // Reserves address space. The spec and what limits points to outlive the store.
    Status open(const JoinSpec& spec, const Limits& limits);

    // As Join::append.
    Status append(const BatchView& batch, uint64_t first_row);

    // Once all appends have returned: fails unless all row numbers are there.
    Status seal() { return numbers_.seal(); }

    // So far; any thread.
    uint64_t rows() const { return rows_; }

    // A stored column, for reading once all appends have returned.
    ColumnSource source(uint32_t number) const;

    // Of sealed rows.
    const RowNumbers& numbers() const { return numbers_; }

    // As Join::export_build.
    Status export_rows(const BuildConsumer& consumer) const;

  private:
    struct Column {
        ColumnSpec spec;
        HostArray values;  // fixed values, or 64-bit offsets of Bytes
        HostArray data;
        HostArray null_flags;
        uint64_t data_bytes = 0;
        std::atomic<bool> has_nulls{false};
    };

    Status grow(const BatchView& batch);
    void copy(Column& column, const ColumnView& view, uint64_t rows, uint64_t first, uint64_t first_byte);
    uint64_t export_batch_rows(const RowRun& run) const;
    Status export_batch(const BuildConsumer& consumer, const RowRun& run) const;

    const std::atomic<bool>* cancel_ = nullptr;
    std::vector<Column> columns_;
    std::mutex mutex_;  // held to change what follows, and to grow
    std::atomic<uint64_t> rows_{0};
    RowNumbers numbers_;
};

}  // namespace gpujoin::cpu
