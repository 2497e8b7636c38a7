// GroupConsumer: aggregates the rows of one batch at a time, and gives out groups where their table is full,
// and escaped rows.
#pragma once

#include "cuda/fragment/batch_work.h"
#include "cuda/fragment/group_tables.h"
#include "cuda/fragment/group_writer.h"

namespace gpujoin::cuda {

class GroupConsumer final : public RowConsumer {
  public:
    // Both outlive it.
    GroupConsumer(GroupTables* tables, BatchWork* work);
    ~GroupConsumer() override { end(); }

    Status begin() override;
    Status start(std::span<const PickedColumn> inputs, const uint32_t* source_rows, uint32_t rows) override;
    Status next(bool last, const Sink& sink, ResultBatch* result) override;
    void end() override;

  private:
    Status add();
    uint32_t next_rows() const;
    Status add_in_one_pass(uint32_t rows, bool* is_done);
    Status add_piece(uint32_t rows, bool* is_full);
    void release();
    Status write_escaped(const Sink& sink, ResultBatch* result);
    bool has_escaped() const { return escaped_written_ < escaped_count_; }

    GroupTables& tables_;
    BatchWork& work_;
    GroupTable* table_ = nullptr;
    GroupWriter group_writer_;
    bool gives_out_ = false;  // the table is full

    std::vector<PickedView> inputs_;  // of the current rows
    DeviceArray<PickedView> device_inputs_;
    SinkValues values_;
    uint32_t rows_ = 0;
    uint32_t added_ = 0;
    uint32_t piece_rows_ = 0;
    // Of the rows from pass_begin_ to pass_end_ those that could be were added in one pass.
    DeviceArray<uint32_t> left_;
    uint32_t pass_begin_ = 0;
    uint32_t pass_end_ = 0;
    uint32_t left_rows_ = 0;

    // The rows that escaped when rows were added last.
    DeviceWriter escaped_writer_;
    DeviceArray<uint32_t> escaped_rows_;
    uint32_t escaped_count_ = 0;
    uint32_t escaped_written_ = 0;
};

}  // namespace gpujoin::cuda
