// Aggregating rows piece by piece.
#include "cuda/fragment/group_consumer.h"

#include <algorithm>

#include "cuda/work/launch.cuh"
#include "engine/turn.h"

namespace gpujoin::cuda {

namespace {

// Where memory is short for more of them fewer rows go at a time, before groups are given out.
constexpr uint32_t kFewRows = 1u << 16;

// As whole words of bits, while there are several.
uint32_t half_of(uint32_t rows) {
    if (rows <= Warp::kThreads) return (rows + 1) / 2;
    return (rows / 2 + Warp::kThreads - 1) / Warp::kThreads * Warp::kThreads;
}

std::vector<ResultColumn> input_columns(const SinkPlan& plan) {
    std::vector<ResultColumn> columns;
    for (const LiveColumn& input : plan.inputs)
        columns.push_back({input.spec.type, input.spec.nullable != 0});
    return columns;
}

}  // namespace

GroupConsumer::GroupConsumer(GroupTables* tables, BatchWork* work)
    : tables_(*tables),
      work_(*work),
      group_writer_(tables->sink().plan()),
      values_(tables->sink()),
      escaped_writer_(input_columns(tables->sink().plan()), false) {}

Status GroupConsumer::begin() {
    rows_ = added_ = escaped_count_ = escaped_written_ = 0;
    gives_out_ = false;
    GPUJOIN_RETURN_IF_FAILED(work_.begin());
    table_ = tables_.take();
    return {};
}

// What was queued for the table has been waited for before another batch has it. What the rows took is given
// back, so that there is some memory for giving out groups.
void GroupConsumer::end() {
    work_.end();
    if (!table_) return;
    release();
    left_.reset();
    tables_.give_back(table_);
    table_ = nullptr;
}

void GroupConsumer::release() {
    values_.release();
    escaped_rows_.reset();
    table_->release();
}

Status GroupConsumer::start(std::span<const PickedColumn> inputs, const uint32_t*, uint32_t rows) {
    inputs_.clear();
    for (const PickedColumn& input : inputs) inputs_.push_back(picked_view(input));
    rows_ = piece_rows_ = rows;
    added_ = pass_begin_ = pass_end_ = 0;
    GPUJOIN_RETURN_IF_FAILED(work_.use());
    return mail_vector(work_.context(), inputs_, &device_inputs_);
}

Status GroupConsumer::next(bool, const Sink& sink, ResultBatch* result) {
    *result = {};
    GPUJOIN_RETURN_IF_FAILED(work_.use());
    for (bool has_begun = false;; has_begun = true) {
        if (gives_out_) {
            bool done = false;
            GPUJOIN_RETURN_IF_FAILED(
                group_writer_.write(work_.context(), table_, sink, &tables_.counters(), result, &done));
            gives_out_ = !done;
            return {};
        }
        if (has_escaped()) {
            GPUJOIN_RETURN_IF_FAILED(write_escaped(sink, result));
            result->done = added_ == rows_ && !has_escaped();
            return {};
        }
        result->done = added_ == rows_;
        if (result->done || (has_begun && turn_is_over())) return {};
        GPUJOIN_RETURN_IF_FAILED(add());
    }
}

uint32_t GroupConsumer::next_rows() const {
    const uint32_t rows = std::min(rows_ - added_, piece_rows_);
    if (added_ < pass_end_) return std::min(rows, pass_end_ - added_);
    return table_->rows_at_once(rows);
}

// The rows of the piece that can be added in one pass. Done: these were all.
Status GroupConsumer::add_in_one_pass(uint32_t rows, bool* is_done) {
    const RowPiece piece{device_inputs_.data(), added_, rows};
    const Status status =
        table_->add_in_one_pass(work_.context_of(tables_.account()), piece, inputs_, &left_, &left_rows_);
    if (status.fault == Fault::DeviceMemory) return {};  // then as ever
    GPUJOIN_RETURN_IF_FAILED(status);
    pass_begin_ = added_;
    pass_end_ = added_ + rows;
    *is_done = left_rows_ == 0;
    if (*is_done) added_ = pass_end_;
    return {};
}

// Aggregates some of the rows, a step of a turn. Where there is no memory for many rows fewer go at a time;
// else, or where there is no room, the table is given out first; and if that is empty fewer rows go again: at
// last one, or a word of bits where some of its rows have been added.
Status GroupConsumer::add() {
    escaped_count_ = escaped_written_ = 0;
    const uint32_t rows = next_rows();
    if (added_ >= pass_end_ && table_->takes_one_pass()) {
        bool is_done = false;
        GPUJOIN_RETURN_IF_FAILED(add_in_one_pass(rows, &is_done));
        if (is_done) return {};
    }
    bool is_full = false;
    Status status = add_piece(rows, &is_full);
    is_full |= status.fault == Fault::DeviceMemory;
    if (!is_full) {
        if (status.ok()) added_ += rows;
        return status;
    }
    escaped_count_ = 0;
    GPUJOIN_RETURN_IF_FAILED(work_.synchronize());
    release();
    if (status.fault == Fault::DeviceMemory && rows > kFewRows) {
        piece_rows_ = half_of(rows);
        return {};
    }
    if (table_->groups() > 0) {
        gives_out_ = true;
        tables_.note_given_out();
        return group_writer_.start(work_.context(), table_);
    }
    if (rows == 1 || (added_ < pass_end_ && rows <= Warp::kThreads)) return status;
    piece_rows_ = half_of(rows);
    return {};
}

Status GroupConsumer::add_piece(uint32_t rows, bool* is_full) {
    const WorkContext context = work_.context();
    RowPiece piece{device_inputs_.data(), added_, rows};
    if (added_ < pass_end_) {
        piece.wanted = left_.data() + (added_ - pass_begin_) / Warp::kThreads;
        piece.wanted_rows = left_rows_;
    }
    GPUJOIN_RETURN_IF_FAILED(values_.run(context, piece));
    if (values_.escaped() > 0) GPUJOIN_RETURN_IF_FAILED(values_.list_escaped(context, piece, &escaped_rows_));
    GPUJOIN_RETURN_IF_FAILED(
        table_->add(work_.context_of(tables_.account()), piece, inputs_, values_, is_full));
    if (*is_full) return {};
    escaped_count_ = values_.escaped();
    tables_.counters().escaped_rows += escaped_count_;
    return work_.synchronize();
}

Status GroupConsumer::write_escaped(const Sink& sink, ResultBatch* result) {
    GPUJOIN_RETURN_IF_FAILED(escaped_writer_.write(work_.context(), inputs_, escaped_rows_.data(), nullptr,
                                                   &escaped_written_, escaped_count_, sink, result));
    result->undecided = result->rows > 0;
    return {};
}

}  // namespace gpujoin::cuda
