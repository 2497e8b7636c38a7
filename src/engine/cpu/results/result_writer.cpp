// Finding out how many rows fit, and gathering them.
#include "engine/cpu/results/result_writer.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/columns/gather.h"

namespace gpujoin::cpu {

namespace {

// Rows whose lengths are looked at together.
constexpr uint32_t kLengthsAtOnce = 64;
// Beyond its own size, a data buffer costs at most this much for alignment.
constexpr uint64_t kDataSlack = kBufferAlignment - 1;

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
        uint64_t lengths[kLengthsAtOnce];
        uint32_t rows = static_cast<uint32_t>(std::min<uint64_t>(kLengthsAtOnce, end - taken_));
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
