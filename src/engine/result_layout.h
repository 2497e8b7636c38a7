// The layout of results in a sink, the same for both engines: probe row numbers, build row numbers, then
// column by column validity, values or offsets, and data. All buffers start at multiples of kBufferAlignment.
//
// A shape counts the columns by kind, so that the size of a result is a short formula that grows with its
// rows: what fits into a budget is found by binary search, on the host or on the device.
#pragma once

#include <cstdint>
#include <span>

#include "engine/engine.h"
#include "engine/host_device.h"
#include "wire/batch.h"
#include "wire/join_spec.h"

namespace gpujoin {

// One column of a result.
struct ResultColumn {
    ColumnType type;
    bool nullable;  // room for a validity bitmap
};

struct ResultShape {
    uint32_t of_width[5] = {};  // fixed columns of 1, 2, 4, 8, 16 bytes, row numbers included
    uint32_t bytes_columns = 0;
    uint32_t nullable_columns = 0;
};

inline ResultShape make_result_shape(std::span<const ResultColumn> columns, bool probe_rows,
                                     bool build_rows) {
    ResultShape shape;
    shape.of_width[2] += probe_rows;
    shape.of_width[3] += build_rows;
    for (const ResultColumn& column : columns) {
        if (column.type == ColumnType::Bytes) {
            shape.bytes_columns++;
        } else {
            shape.of_width[static_cast<uint32_t>(column.type)]++;
        }
        shape.nullable_columns += column.nullable;
    }
    return shape;
}

GPUJOIN_HD constexpr uint64_t align_to_buffer(uint64_t bytes) {
    return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// Bytes of a result of `rows` rows, without the data buffers of Bytes columns (align_to_buffer(data) each).
GPUJOIN_HD inline uint64_t result_bytes(const ResultShape& shape, uint64_t rows) {
    uint64_t bytes = shape.nullable_columns * align_to_buffer((rows + 7) / 8);
    for (uint32_t i = 0; i < 5; i++) bytes += shape.of_width[i] * align_to_buffer(rows << i);
    return bytes + shape.bytes_columns * align_to_buffer(4 * (rows + 1));
}

// The most rows, at most `rows` and kMaxBatchRows, whose result fits into `budget` bytes. data(n) gives the
// bytes of all data buffers for the first n rows, each aligned, or UINT64_MAX when one of them is beyond
// 32-bit offsets; it never decreases.
template <typename Data>
GPUJOIN_HD uint64_t cut_rows(const ResultShape& shape, uint64_t rows, uint64_t budget, const Data& data) {
    uint64_t fit = 0;
    uint64_t most = rows < kMaxBatchRows ? rows : kMaxBatchRows;
    while (fit < most) {
        uint64_t middle = fit + (most - fit + 1) / 2;
        uint64_t fixed = result_bytes(shape, middle);
        if (fixed <= budget && data(middle) <= budget - fixed) {
            fit = middle;
        } else {
            most = middle - 1;
        }
    }
    return fit;
}

// The same when there are no data buffers, or before they are known.
GPUJOIN_HD inline uint64_t cut_rows(const ResultShape& shape, uint64_t rows, uint64_t budget) {
    return cut_rows(shape, rows, budget, [](uint64_t) { return uint64_t{0}; });
}

// Places the buffers of a result of `rows` rows: fills rows, probe_rows, build_rows, bytes and columns.
// data_bytes has one entry a column, read for Bytes columns.
inline void place_result(std::span<const ResultColumn> columns, bool probe_rows, bool build_rows,
                         uint32_t rows, std::span<const uint64_t> data_bytes, ResultBatch* result) {
    uint64_t next = 0;
    auto take = [&next](uint64_t bytes) {
        uint64_t start = next;
        next += align_to_buffer(bytes);
        return start;
    };
    result->rows = rows;
    result->probe_rows = probe_rows ? take(4 * uint64_t{rows}) : kNoBuffer;
    result->build_rows = build_rows ? take(8 * uint64_t{rows}) : kNoBuffer;
    result->columns.resize(columns.size());
    for (size_t i = 0; i < columns.size(); i++) {
        ColumnBuffers& buffers = result->columns[i];
        buffers = {};
        if (columns[i].nullable) buffers.validity = take(validity_bytes(rows));
        if (columns[i].type == ColumnType::Bytes) {
            buffers.values = take(4 * (uint64_t{rows} + 1));
            buffers.data = take(data_bytes[i]);
            buffers.data_bytes = data_bytes[i];
        } else {
            buffers.values = take(uint64_t{rows} * fixed_width(columns[i].type));
        }
    }
    result->bytes = next;
}

// The columns of a result in a sink that begins at `base`; columns: what they are.
inline void view_result(const ResultBatch& result, std::span<const ColumnSpec> columns, const std::byte* base,
                        std::span<ColumnView> views) {
    for (size_t i = 0; i < columns.size(); i++) {
        const ColumnBuffers& buffers = result.columns[i];
        ColumnView& view = views[i] = {};
        if (buffers.validity != kNoBuffer)
            view.validity = reinterpret_cast<const uint8_t*>(base + buffers.validity);
        if (columns[i].type == ColumnType::Bytes) {
            view.offsets = reinterpret_cast<const uint32_t*>(base + buffers.values);
            view.data = base + buffers.data;
            view.data_bytes = buffers.data_bytes;
        } else {
            view.values = base + buffers.values;
        }
    }
}

// The columns of a join's results, in the order of spec.output.
inline ResultColumn result_column(const JoinSpec& spec, uint32_t output) {
    const ColumnSpec column = output_column(spec, output);
    return {column.type, column.nullable != 0};
}

// Those of spec.carry, behind them: nullable where the probe column is, or where there is no probe row.
inline ResultColumn carried_column(const JoinSpec& spec, uint32_t number, bool has_probe_rows) {
    const ColumnSpec& column = spec.probe[spec.carry[number]];
    return {column.type, column.nullable != 0 || !has_probe_rows};
}

}  // namespace gpujoin
