// GroupWriter: writes the groups of a table, piece by piece, and empties it.
#pragma once

#include "cuda/fragment/device_top.h"
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
        groups_ = table->groups();
        is_listed_ = false;
        return table->close(context);
    }
    // The same, but of groups that can be among the first ones; of all where memory is short.
    Status start_top(const WorkContext& context, GroupTable* table, const TopPlan& top, TopKeys& keys) {
        GPUJOIN_RETURN_IF_FAILED(start(context, table));
        if (written_ > 0 || !list_.allocate(context.account, groups_, context.handle()).ok()) return {};
        uint32_t selected;
        GPUJOIN_RETURN_IF_FAILED(select_top_rows(context, columns_[top.key.column], top.order, groups_, keys,
                                                 list_.data(), &selected));
        is_listed_ = selected < groups_;
        groups_ = selected;
        return {};
    }
    // done: that was the last of it.
    Status write(const WorkContext& context, GroupTable* table, const Sink& sink, SinkCounters* counters,
                 ResultBatch* result, bool* done) {
        if (written_ < groups_)
            GPUJOIN_RETURN_IF_FAILED(writer_.write(context, columns_, is_listed_ ? list_.data() : nullptr,
                                                   nullptr, &written_, groups_, sink, result));
        counters->groups += result->rows;
        *done = written_ == groups_;
        if (!*done) return {};
        counters->left_out += table->groups() - groups_;
        table->clear();
        return {};
    }

  private:
    DeviceWriter writer_;
    std::vector<PickedView> columns_;
    DeviceArray<uint32_t> list_;
    bool is_listed_ = false;  // groups are written by their numbers in the list
    uint32_t groups_ = 0;     // that are to be written
    uint32_t written_ = 0;
};

}  // namespace gpujoin::cuda
