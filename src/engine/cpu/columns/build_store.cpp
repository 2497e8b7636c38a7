// Storage of the build side.
#include "engine/cpu/columns/build_store.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/work/workers.h"

namespace gpujoin::cpu {

namespace {

// Address space that one join may reserve: more than its rows are likely to take, and little enough for a
// hundred joins at once in what a process has.
constexpr uint64_t kAddressSpace = uint64_t{1} << 40;

void mark_nulls(const uint8_t* validity, uint64_t rows, uint8_t* null_flags) {
    for (uint64_t row = 0; row < rows; row++) null_flags[row] = !(validity[row >> 3] >> (row & 7) & 1);
}

void shift_offsets(const uint32_t* offsets, uint64_t rows, uint64_t first_byte, uint64_t* stored) {
    for (uint64_t row = 1; row <= rows; row++) stored[row] = first_byte + offsets[row];
}

}  // namespace

Status BuildStore::open(const JoinSpec& spec, const Limits& limits) {
    cancel_ = limits.cancel;
    columns_ = std::vector<Column>(spec.build_columns);
    uint64_t most = kAddressSpace / (3 * uint64_t{spec.build_columns} + 1);
    if (limits.host_memory) most = std::min(most, limits.host_memory->limit());
    for (uint32_t i = 0; i < spec.build_columns; i++) {
        Column& column = columns_[i];
        column.spec = spec.build[i];
        GPUJOIN_RETURN_IF_FAILED(column.values.reserve(limits.host_memory, most));
        if (column.spec.type == ColumnType::Bytes) {
            GPUJOIN_RETURN_IF_FAILED(column.data.reserve(limits.host_memory, most));
        }
        if (column.spec.nullable) {
            GPUJOIN_RETURN_IF_FAILED(column.null_flags.reserve(limits.host_memory, most));
        }
    }
    return {};
}

// Makes room for a batch in every column. Called with the mutex held.
Status BuildStore::grow(const BatchView& batch) {
    uint64_t rows = rows_ + batch.rows;
    for (uint32_t i = 0; i < columns_.size(); i++) {
        Column& column = columns_[i];
        const ColumnView& view = batch.columns[i];
        if (column.spec.type == ColumnType::Bytes) {
            GPUJOIN_RETURN_IF_FAILED(column.values.grow((rows + 1) * sizeof(uint64_t)));
            GPUJOIN_RETURN_IF_FAILED(column.data.grow(column.data_bytes + view.offsets[batch.rows]));
        } else {
            GPUJOIN_RETURN_IF_FAILED(column.values.grow(rows * fixed_width(column.spec.type)));
        }
        if (column.spec.nullable) GPUJOIN_RETURN_IF_FAILED(column.null_flags.grow(rows));
    }
    return {};
}

Status BuildStore::append(const BatchView& batch, uint64_t first_row) {
    if (batch.memory == Memory::Device)
        return failure(Fault::Error, "XX000", "the CPU join engine cannot read device memory");
    if (batch.rows == 0) return {};
    std::vector<uint64_t> first_byte(columns_.size());
    uint64_t stored_at;
    {
        std::lock_guard lock(mutex_);
        if (batch.rows > kMaxRows - rows_)
            return failure(Fault::Error, "54000", "too many rows on the build side of a join")
                .with_detail("The CPU join engine takes at most %llu rows.",
                             static_cast<unsigned long long>(kMaxRows));
        GPUJOIN_RETURN_IF_FAILED(grow(batch));
        numbers_.add(first_row, batch.rows);
        stored_at = rows_;
        rows_ += batch.rows;
        for (uint32_t i = 0; i < columns_.size(); i++) {
            first_byte[i] = columns_[i].data_bytes;
            if (columns_[i].spec.type == ColumnType::Bytes)
                columns_[i].data_bytes += batch.columns[i].offsets[batch.rows];
        }
    }
    for (uint32_t i = 0; i < columns_.size(); i++) {
        if (should_stop(cancel_)) return cancelled_status();
        copy(columns_[i], batch.columns[i], batch.rows, stored_at, first_byte[i]);
    }
    return {};
}

void BuildStore::copy(Column& column, const ColumnView& view, uint64_t rows, uint64_t first,
                      uint64_t first_byte) {
    if (column.spec.type == ColumnType::Bytes) {
        shift_offsets(view.offsets, rows, first_byte, column.values.as<uint64_t>() + first);
        uint64_t bytes = view.offsets[rows];
        if (bytes > 0) std::memcpy(column.data.as<std::byte>() + first_byte, view.data, bytes);
    } else {
        uint64_t width = fixed_width(column.spec.type);
        std::memcpy(column.values.as<std::byte>() + first * width, view.values, rows * width);
    }
    if (view.validity && column.spec.nullable) {
        mark_nulls(view.validity, rows, column.null_flags.as<uint8_t>() + first);
        column.has_nulls.store(true, std::memory_order_relaxed);
    }
}

ColumnSource BuildStore::source(uint32_t number) const {
    const Column& column = columns_[number];
    ColumnSource source;
    source.spec = column.spec;
    if (column.spec.type == ColumnType::Bytes) {
        source.offsets64 = column.values.as<uint64_t>();
        source.data = column.data.as<std::byte>();
        source.data_bytes = column.data_bytes;
    } else {
        source.values = column.values.as<std::byte>();
    }
    if (column.has_nulls.load(std::memory_order_relaxed)) source.null_flags = column.null_flags.as<uint8_t>();
    return source;
}

// How many rows at the head of a run make a batch: at most kMaxBatchRows, with 32-bit offsets in every
// column.
uint64_t BuildStore::export_batch_rows(const RowRun& run) const {
    uint64_t rows = std::min<uint64_t>(kMaxBatchRows, run.rows);
    for (const Column& column : columns_) {
        if (column.spec.type != ColumnType::Bytes) continue;
        const uint64_t* offsets = column.values.as<uint64_t>() + run.stored_at;
        auto fits = [&](uint64_t end) { return end - offsets[0] <= ~uint32_t{0}; };
        const uint64_t* end = std::partition_point(offsets + 1, offsets + rows + 1, fits);
        rows = static_cast<uint64_t>(end - offsets) - 1;
    }
    return rows;
}

Status BuildStore::export_rows(const BuildConsumer& consumer) const {
    for (RowRun left : numbers_.runs()) {
        while (left.rows > 0) {
            if (should_stop(cancel_)) return cancelled_status();
            const uint64_t rows = export_batch_rows(left);
            GPUJOIN_RETURN_IF_FAILED(export_batch(consumer, {left.first_row, rows, left.stored_at}));
            left = {left.first_row + rows, left.rows - rows, left.stored_at + rows};
        }
    }
    return {};
}

Status BuildStore::export_batch(const BuildConsumer& consumer, const RowRun& run) const {
    const auto [first_row, rows, stored_at] = run;
    std::vector<ColumnView> views(columns_.size());
    std::vector<std::vector<uint32_t>> offsets(columns_.size());
    std::vector<std::vector<uint8_t>> validity(columns_.size());
    for (uint32_t i = 0; i < columns_.size(); i++) {
        const Column& column = columns_[i];
        ColumnView& view = views[i];
        if (column.spec.type == ColumnType::Bytes) {
            const uint64_t* stored = column.values.as<uint64_t>() + stored_at;
            offsets[i].resize(rows + 1);
            for (uint64_t row = 0; row <= rows; row++)
                offsets[i][row] = static_cast<uint32_t>(stored[row] - stored[0]);
            view.offsets = offsets[i].data();
            view.data = column.data.as<std::byte>() + stored[0];
            view.data_bytes = offsets[i][rows];
        } else {
            view.values = column.values.as<std::byte>() + stored_at * fixed_width(column.spec.type);
        }
        if (column.has_nulls.load(std::memory_order_relaxed)) {
            const uint8_t* null_flags = column.null_flags.as<uint8_t>() + stored_at;
            validity[i].resize(validity_bytes(rows));
            for (uint64_t row = 0; row < rows; row++)
                validity[i][row >> 3] |= static_cast<uint8_t>(!null_flags[row] << (row & 7));
            view.validity = validity[i].data();
        }
    }
    return consumer({rows, views, Memory::Host}, first_row);
}

}  // namespace gpujoin::cpu
