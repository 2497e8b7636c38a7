// Making columns, and slices of them.
#include "columns.h"

namespace gpujoin::bench {

ColumnSpec key_column(Format format) {
    if (format == Format::Text) return {ColumnType::Bytes, ValueOrder::Bytes, 0, 0};
    return {width_of(format) == 4 ? ColumnType::Fixed4 : ColumnType::Fixed8,
            is_float(format) ? ValueOrder::Float : ValueOrder::Signed, 0, 0};
}

void ColumnMaker::add_keys(const Keys& keys, Format format, uint64_t offset) {
    if (format == Format::Text) return add_texts(keys);
    place_.fill_keys({keys, format, offset, add_fixed(width_of(format))}, columns_.rows);
}

void ColumnMaker::add_row_numbers(uint32_t width) {
    place_.fill_row_numbers({width, add_fixed(width)}, columns_.rows);
}

void ColumnMaker::add_attributes(const Keys& keys, uint32_t dimension) {
    place_.fill_attributes({keys, dimension, add_fixed(sizeof(uint32_t))}, columns_.rows);
}

void ColumnMaker::add_texts(const Keys& keys) {
    uint64_t bytes = columns_.rows * kTextBytes;
    auto offsets = reinterpret_cast<uint32_t*>(allocate((columns_.rows + 1) * sizeof(uint32_t)));
    std::byte* data = allocate(bytes);
    place_.fill_texts({keys, offsets, data}, columns_.rows);
    columns_.views.push_back({nullptr, nullptr, offsets, data, bytes});
}

std::byte* ColumnMaker::allocate(uint64_t bytes) {
    columns_.buffers.push_back(place_.allocate(bytes));
    return columns_.buffers.back().get();
}

std::byte* ColumnMaker::add_fixed(uint32_t width) {
    std::byte* values = allocate(columns_.rows * width);
    columns_.views.push_back({nullptr, values});
    return values;
}

Slice::Slice(const Columns& columns, std::span<const ColumnSpec> specs, uint64_t first, uint64_t rows,
             Memory memory) {
    for (size_t i = 0; i < specs.size(); i++) {
        views.push_back(columns.views[i]);
        if (specs[i].type == ColumnType::Bytes) {
            views[i].data += first * kTextBytes;
            views[i].data_bytes = rows * kTextBytes;
        } else {
            views[i].values += first * fixed_width(specs[i].type);
        }
    }
    batch = {rows, views, memory, 0, true};
}

}  // namespace gpujoin::bench
