// Finding out how many rows fit into a sink, and copying them there.
#include "engine/fragment/host_writer.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/columns/gather.h"

namespace gpujoin {

namespace {

constexpr uint64_t kBeyondOffsets = ~uint64_t{0};

// As gather_validity(), of rows that follow each other.
bool copy_validity(const cpu::ColumnSource& source, uint32_t first, uint32_t rows, std::byte* out) {
    if (!source.has_nulls()) return false;
    bool any_null = false;
    for (uint32_t begin = 0; begin < rows; begin += 8) {
        const uint32_t end = std::min(rows - begin, 8u);
        uint32_t valid = 0;
        for (uint32_t i = 0; i < end; i++) valid |= uint32_t{!source.is_null(first + begin + i)} << i;
        any_null |= valid != (1u << end) - 1;
        out[begin / 8] = static_cast<std::byte>(valid);
    }
    return any_null;
}

void copy_bytes(const cpu::ColumnSource& source, uint32_t first, uint32_t rows, uint32_t* offsets,
                std::byte* data) {
    const uint64_t start = source.offset(first);
    for (uint32_t i = 0; i <= rows; i++)
        offsets[i] = static_cast<uint32_t>(source.offset(uint64_t{first} + i) - start);
    const uint64_t bytes = source.offset(uint64_t{first} + rows) - start;
    if (bytes > 0) std::memcpy(data, source.data + start, bytes);
}

void write_column(const HostColumn& column, uint32_t first, uint32_t rows, std::byte* sink,
                  ColumnBuffers* buffers) {
    const cpu::ColumnSource& source = column.source;
    const uint32_t* picked = column.rows ? column.rows + first : nullptr;
    std::byte* values = sink + buffers->values;
    if (const uint32_t width = fixed_width(source.spec.type)) {
        if (picked) {
            cpu::gather_values(source, picked, rows, false, values);
        } else {
            std::memcpy(values, source.values + uint64_t{first} * width, uint64_t{rows} * width);
        }
    } else {
        auto* offsets = reinterpret_cast<uint32_t*>(values);
        std::byte* data = sink + buffers->data;
        picked ? cpu::gather_bytes(source, picked, rows, offsets, data)
               : copy_bytes(source, first, rows, offsets, data);
    }
    if (buffers->validity == kNoBuffer) return;
    std::byte* bits = sink + buffers->validity;
    const bool any_null = picked ? cpu::gather_validity(source, picked, rows, false, bits)
                                 : copy_validity(source, first, rows, bits);
    if (!any_null) buffers->validity = kNoBuffer;
}

}  // namespace

HostWriter::HostWriter(std::vector<ResultColumn> columns, bool names_rows)
    : columns_(std::move(columns)),
      shape_(make_result_shape(columns_, names_rows, false)),
      names_rows_(names_rows),
      lengths_(columns_.size()) {}

// Adds up the lengths of picked values. Those of values that lie side by side are known by their offsets.
void HostWriter::measure(std::span<const HostColumn> columns, uint32_t first, uint64_t rows) {
    for (size_t c = 0; c < columns_.size(); c++) {
        if (columns_[c].type != ColumnType::Bytes || !columns[c].rows) continue;
        std::vector<uint64_t>& lengths = lengths_[c];
        lengths.resize(rows + 1);
        lengths[0] = 0;
        for (uint64_t i = 0; i < rows; i++)
            lengths[i + 1] = lengths[i] + cpu::length_at(columns[c].source, columns[c].rows[first + i]);
    }
}

uint64_t HostWriter::data_bytes(const HostColumn& column, size_t number, uint32_t first,
                                uint64_t rows) const {
    if (column.rows) return lengths_[number][rows];
    return column.source.offset(first + rows) - column.source.offset(first);
}

void HostWriter::write(std::span<const HostColumn> columns, const uint32_t* source_rows, uint32_t* first,
                       uint32_t rows, const Sink& sink, ResultBatch* result) {
    const uint32_t left = rows - *first;
    const uint64_t most = std::max<uint64_t>(cut_rows(shape_, left, sink.bytes), 1);
    measure(columns, *first, most);
    auto data = [&](uint64_t count) {
        uint64_t bytes = 0;
        for (size_t c = 0; c < columns_.size(); c++) {
            if (columns_[c].type != ColumnType::Bytes) continue;
            const uint64_t of_column = data_bytes(columns[c], c, *first, count);
            if (of_column > ~uint32_t{0}) return kBeyondOffsets;
            bytes += align_to_buffer(of_column);
        }
        return bytes;
    };
    const auto fit =
        static_cast<uint32_t>(cut_rows(shape_, std::min<uint64_t>(most, left), sink.bytes, data));
    if (fit == 0) {
        result->bytes_needed = result_bytes(shape_, 1) + data(1);
        return;
    }
    std::vector<uint64_t> bytes(columns_.size());
    for (size_t c = 0; c < columns_.size(); c++)
        if (columns_[c].type == ColumnType::Bytes) bytes[c] = data_bytes(columns[c], c, *first, fit);
    place_result(columns_, names_rows_, false, fit, bytes, result);
    if (names_rows_)
        std::memcpy(sink.memory + result->probe_rows, source_rows + *first, fit * sizeof(uint32_t));
    for (size_t c = 0; c < columns_.size(); c++)
        write_column(columns[c], *first, fit, sink.memory, &result->columns[c]);
    *first += fit;
}

}  // namespace gpujoin
