// BuildStore: the build rows as they were appended, column by column. Arrays grow in place, so an append is a
// copy of the batch and nothing else; several threads append at once, each into the range of rows it was
// given.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/cpu/columns/column_source.h"
#include "engine/cpu/memory/host_array.h"
#include "engine/engine.h"

namespace gpujoin::cpu {

class BuildStore {
  public:
    // Rows are numbered by 32 bits, and the last number means "no build row".
    static constexpr uint64_t kMaxRows = ~uint32_t{0} - 1;

    // Reserves address space. The spec and what limits points to outlive the store.
    Status open(const JoinSpec& spec, const Limits& limits);

    // Any thread. A batch that fails is left out as a whole.
    Status append(const BatchView& batch);

    // So far; any thread.
    uint64_t rows() const { return rows_; }

    // A stored column, for reading once all appends have returned.
    ColumnSource source(uint32_t number) const;

    // As Join::export_build.
    Status export_rows(const std::function<Status(const BatchView&)>& consumer) const;

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
    uint64_t export_batch_rows(uint64_t first) const;
    Status export_batch(const std::function<Status(const BatchView&)>& consumer, uint64_t first,
                        uint64_t rows) const;

    const std::atomic<bool>* cancel_ = nullptr;
    std::vector<Column> columns_;
    std::mutex mutex_;  // held to change what follows, and to grow
    std::atomic<uint64_t> rows_{0};
};

}  // namespace gpujoin::cpu
