// GroupWriter: writes the groups of a table, piece by piece, and empties it.
#pragma once

#include "cuda/fragment/device_writer.h"
#include "cuda/fragment/group_table.h"

namespace gpujoin::cuda {

inline std::vector<ResultColumn> group_result_columns(const SinkPlan& plan) {
    std::vector<ResultColumn> columns;
    for (const ColumnSpec& column : plan.group_columns)
        columns.push_back({column.type, column.nullable != 0});
    return columns;
}

class GroupWriter {
  public:
    explicit GroupWriter(const SinkPlan& plan) : writer_(group_result_columns(plan), false) {}

    Status start(const WorkContext& context, GroupTable* table) {
        columns_ = table->columns();
        written_ = table->merged();
        return table->close(context);
    }
    // done: that was the last of it.
    Status write(const WorkContext& context, GroupTable* table, const Sink& sink, SinkCounters* counters,
                 ResultBatch* result, bool* done) {
        GPUJOIN_RETURN_IF_FAILED(
            writer_.write(context, columns_, nullptr, nullptr, &written_, table->groups(), sink, result));
        counters->groups += result->rows;
        *done = written_ == table->groups();
        if (*done) table->clear();
        return {};
    }

  private:
    DeviceWriter writer_;
    std::vector<PickedView> columns_;
    uint32_t written_ = 0;
};

}  // namespace gpujoin::cuda
