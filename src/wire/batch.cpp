// Checking of batch layouts and offsets that come from the other side.
#include "wire/batch.h"

namespace gpujoin {

namespace {

Status malformed_column(const char* detail, size_t column) {
    return malformed("batch").with_detail(detail, column);
}

// Is [offset, offset + bytes) aligned and inside a block? Written so that nothing overflows.
bool is_inside(uint64_t offset, uint64_t bytes, uint64_t block_bytes) {
    return offset % kBufferAlignment == 0 && offset <= block_bytes && bytes <= block_bytes - offset;
}

Status validate_column(const ColumnSpec& column, const ColumnBuffers& buffers, size_t number, uint64_t rows,
                       uint64_t block_bytes) {
    if (buffers.validity != kNoBuffer) {
        if (!column.nullable)
            return malformed_column("Column %zu is not nullable but has a validity bitmap.", number);
        if (!is_inside(buffers.validity, validity_bytes(rows), block_bytes))
            return malformed_column("The validity bitmap of column %zu is not inside the block.", number);
    }
    bool is_bytes = column.type == ColumnType::Bytes;
    uint64_t value_bytes = is_bytes ? (rows + 1) * sizeof(uint32_t) : rows * fixed_width(column.type);
    if (!is_inside(buffers.values, value_bytes, block_bytes))
        return malformed_column("The values of column %zu are not inside the block.", number);
    if (!is_bytes) return {};
    if (buffers.data_bytes > UINT32_MAX)
        return malformed_column("The data of column %zu is too large.", number);
    if (!is_inside(buffers.data, buffers.data_bytes, block_bytes))
        return malformed_column("The data of column %zu is not inside the block.", number);
    return {};
}

}  // namespace

Status validate_buffers(std::span<const ColumnSpec> columns, std::span<const ColumnBuffers> buffers,
                        uint64_t rows, uint64_t block_bytes) {
    if (rows > kMaxBatchRows)
        return malformed("batch").with_detail("It has %llu rows.", static_cast<unsigned long long>(rows));
    if (buffers.size() != columns.size())
        return malformed("batch").with_detail("It has %zu columns instead of %zu.", buffers.size(),
                                              columns.size());
    for (size_t i = 0; i < columns.size(); i++)
        GPUJOIN_RETURN_IF_FAILED(validate_column(columns[i], buffers[i], i, rows, block_bytes));
    return {};
}

Status copy_offsets(const uint32_t* shared, uint64_t rows, uint64_t data_bytes, uint32_t* copy) {
    // Each entry is read exactly once: the other side may change it meanwhile.
    const volatile uint32_t* source = shared;
    uint32_t previous = 0;
    bool increasing = true;
    for (uint64_t i = 0; i <= rows; i++) {
        uint32_t offset = source[i];
        increasing &= offset >= previous;
        copy[i] = previous = offset;
    }
    if (!increasing || copy[0] != 0 || copy[rows] > data_bytes)
        return malformed("batch").with_detail(
            "The offsets of a column do not start at 0, decrease, or exceed its data.");
    return {};
}

uint64_t batch_bytes(std::span<const ColumnSpec> specs, const BatchView& batch) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < specs.size(); i++) {
        const ColumnView& column = batch.columns[i];
        uint32_t width = fixed_width(specs[i].type);
        bytes += column.validity ? validity_bytes(batch.rows) : 0;
        bytes += width ? batch.rows * width : (batch.rows + 1) * sizeof(uint32_t) + column.data_bytes;
    }
    return bytes;
}

}  // namespace gpujoin
