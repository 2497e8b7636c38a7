// Gathering. Row numbers are random, so every loop keeps many independent loads under way: fixed columns by
// plain indexed copies, bytes by prefetching a small group of values before copying them.
#include "engine/cpu/results/result_writer.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/columns/gather.h"

namespace gpujoin::cpu {

namespace {

constexpr uint32_t kGroup = 64;
// Beyond its own size, a data buffer costs at most this much for alignment.
constexpr uint64_t kDataSlack = kBufferAlignment - 1;

uint64_t length_at(const ColumnSource& source, uint32_t row) {
    return row == kNoRow ? 0 : source.offset(uint64_t{row} + 1) - source.offset(row);
}

// The sink is only written: the client, who can write there too, must not choose where a value goes.
void gather_bytes(const ColumnSource& source, const uint32_t* rows, uint64_t count, uint32_t* offsets,
                  std::byte* data) {
    const std::byte* from[kGroup];
    uint64_t starts[kGroup + 1];
    uint64_t next = 0;
    offsets[0] = 0;
    for (uint64_t group = 0; group < count; group += kGroup) {
        uint32_t group_rows = static_cast<uint32_t>(std::min<uint64_t>(kGroup, count - group));
        for (uint32_t i = 0; i < group_rows; i++) {
            uint32_t row = rows[group + i];
            uint64_t start = row == kNoRow ? 0 : source.offset(row);
            from[i] = source.data + start;
            __builtin_prefetch(from[i]);
            starts[i] = next;
            next += length_at(source, row);
            offsets[group + i + 1] = static_cast<uint32_t>(next);
        }
        starts[group_rows] = next;
        for (uint32_t i = 0; i < group_rows; i++) {
            uint64_t bytes = starts[i + 1] - starts[i];
            if (bytes > 0) std::memcpy(data + starts[i], from[i], bytes);
        }
    }
}

// Writes the validity bits; false if no row is NULL.
bool gather_validity(const ColumnSource& source, const uint32_t* rows, uint64_t count, bool may_lack_row,
                     std::byte* out) {
    if (!may_lack_row && !source.has_nulls()) return false;
    uint8_t* bits = reinterpret_cast<uint8_t*>(out);
    bool any_null = false;
    for (uint64_t first = 0; first < count; first += 8) {
        uint32_t valid = 0;
        uint64_t end = std::min(count - first, uint64_t{8});
        for (uint32_t i = 0; i < end; i++) {
            uint32_t row = rows[first + i];
            valid |= static_cast<uint32_t>(row != kNoRow && !source.is_null(row)) << i;
        }
        any_null |= valid != (1u << end) - 1;
        bits[first / 8] = static_cast<uint8_t>(valid);
    }
    return any_null;
}

std::vector<ResultColumn> shapes_of(const std::vector<OutputColumn>& columns) {
    std::vector<ResultColumn> shapes;
    shapes.reserve(columns.size());
    for (const OutputColumn& column : columns) shapes.push_back(column.shape);
    return shapes;
}

}  // namespace

ResultWriter::ResultWriter(std::vector<OutputColumn> columns, bool probe_rows, const RowNumbers* build_rows,
                           const uint32_t* row_of_number)
    : columns_(std::move(columns)),
      probe_rows_(probe_rows),
      build_rows_(build_rows),
      row_of_number_(row_of_number),
      shapes_(shapes_of(columns_)),
      shape_(make_result_shape(shapes_, probe_rows, build_rows != nullptr)) {}

void ResultWriter::start(uint64_t sink_bytes) {
    sink_bytes_ = sink_bytes;
    most_ = cut_rows(shape_, kMaxBatchRows, sink_bytes);
    taken_ = 0;
    data_ = 0;
}

bool ResultWriter::fits(uint64_t rows, uint64_t data) const {
    uint64_t bytes = result_bytes(shape_, rows) + data + shape_.bytes_columns * kDataSlack;
    return data <= ~uint32_t{0} && bytes <= sink_bytes_;
}

// Adds up the lengths of all Bytes columns for each of a few rows.
void ResultWriter::add_lengths(const PairQueue& queue, uint64_t first, uint32_t rows,
                               uint64_t* lengths) const {
    std::fill(lengths, lengths + rows, 0);
    for (const OutputColumn& column : columns_) {
        if (column.shape.type != ColumnType::Bytes) continue;
        const uint32_t* numbers = (column.from_probe ? queue.probe() : queue.build()) + first;
        for (uint32_t i = 0; i < rows; i++) lengths[i] += length_at(column.source, numbers[i]);
    }
}

bool ResultWriter::take(const PairQueue& queue) {
    uint64_t end = std::min(queue.size(), most_);
    if (shape_.bytes_columns == 0) {
        taken_ = end;
        return taken_ < most_;
    }
    while (taken_ < end) {
        uint64_t lengths[kGroup];
        uint32_t rows = static_cast<uint32_t>(std::min<uint64_t>(kGroup, end - taken_));
        add_lengths(queue, taken_, rows, lengths);
        for (uint32_t i = 0; i < rows; i++) {
            if (!fits(taken_ + 1, data_ + lengths[i])) {
                // One row alone is measured exactly, so that bytes_of_first() is enough for it.
                if (taken_ == 0 && bytes_of_first(queue) <= sink_bytes_) taken_ = 1;
                return false;
            }
            taken_++;
            data_ += lengths[i];
        }
    }
    return taken_ < most_;
}

uint64_t ResultWriter::bytes_of_first(const PairQueue& queue) const {
    uint64_t bytes = result_bytes(shape_, 1);
    for (const OutputColumn& column : columns_) {
        if (column.shape.type != ColumnType::Bytes) continue;
        uint32_t row = (column.from_probe ? queue.probe() : queue.build())[0];
        bytes += align_to_buffer(length_at(column.source, row));
    }
    return bytes;
}

// What the caller knows the build row by that the queue has under a number.
uint64_t ResultWriter::build_row(uint32_t number) const {
    if (number == kNoRow) return kNoBuildRow;
    return build_rows_->number_of(row_of_number_ ? row_of_number_[number] : number);
}

void ResultWriter::write(const PairQueue& queue, std::byte* sink, ResultBatch* result) {
    std::vector<uint64_t> data_bytes(columns_.size());
    for (size_t c = 0; c < columns_.size(); c++) {
        const OutputColumn& column = columns_[c];
        if (column.shape.type != ColumnType::Bytes) continue;
        const uint32_t* rows = column.from_probe ? queue.probe() : queue.build();
        for (uint64_t i = 0; i < taken_; i++) data_bytes[c] += length_at(column.source, rows[i]);
    }
    place_result(shapes_, probe_rows_, build_rows_ != nullptr, static_cast<uint32_t>(taken_), data_bytes,
                 result);
    if (probe_rows_) std::memcpy(sink + result->probe_rows, queue.probe(), taken_ * sizeof(uint32_t));
    if (build_rows_) {
        auto* rows = reinterpret_cast<uint64_t*>(sink + result->build_rows);
        for (uint64_t i = 0; i < taken_; i++) rows[i] = build_row(queue.build()[i]);
    }
    for (size_t c = 0; c < columns_.size(); c++) {
        const OutputColumn& column = columns_[c];
        ColumnBuffers& buffers = result->columns[c];
        const uint32_t* rows = column.from_probe ? queue.probe() : queue.build();
        if (column.shape.type == ColumnType::Bytes) {
            gather_bytes(column.source, rows, taken_, reinterpret_cast<uint32_t*>(sink + buffers.values),
                         sink + buffers.data);
        } else {
            gather_values(column.source, rows, taken_, column.may_lack_row, sink + buffers.values);
        }
        if (buffers.validity != kNoBuffer &&
            !gather_validity(column.source, rows, taken_, column.may_lack_row, sink + buffers.validity))
            buffers.validity = kNoBuffer;
    }
}

}  // namespace gpujoin::cpu
