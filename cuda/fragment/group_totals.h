// GroupTotals: the aggregates of groups, columns of a store, and adding rows to them.
#pragma once

#include <vector>

#include "cuda/fragment/device_sink.h"
#include "cuda/fragment/group_store.h"
#include "cuda/fragment/sink_values.h"
#include "cuda/fragment/total_view.cuh"

namespace gpujoin::cuda {

class GroupTotals {
  public:
    // The aggregates are the columns of the store behind the keys; behind them it has one for each sum of
    // floats.
    GroupTotals(const DeviceSink& sink, GroupStore* store);

    // Whether the sums of floats can take what the values of a piece amount to without any of them leaving
    // the range of floats, which is PostgreSQL's to report. take_range(): they will be added.
    bool has_range(const std::vector<double>& sizes, uint64_t rows) const;
    void take_range(const std::vector<double>& sizes);
    size_t count() const { return totals_.size(); }
    // What was added amounts to.
    const std::vector<double>& sizes() const { return sizes_; }

    // Before groups are begun for rows of these inputs (in host memory), or of another table, and before
    // these are added: whether all have values.
    void note_values(std::span<const PickedView> inputs);
    void note_values(const GroupTotals& other);
    // Begins groups, the next ones of the store, which has room for them.
    Status begin(const WorkContext& context, uint64_t groups);
    // Adds the live rows to their groups.
    Status add(const WorkContext& context, const SinkValuesView& values, const uint32_t* groups_of_rows);
    // Where the store has other memory than before, so have the aggregates: before any row is added.
    Status refresh(const WorkContext& context);
    // For kernels that add to what groups have: on the device, and the same on the host. They hold until the
    // store grows.
    Status views(const WorkContext& context, const TotalView** on_device, const TotalView** on_host,
                 uint32_t* count);
    // Adds what so many groups of another table have, from `first` on, to groups of this one.
    Status merge(const WorkContext& context, GroupTotals* other, uint64_t first, uint64_t groups,
                 const uint32_t* groups_of_rows);
    // Before groups are given out: sums of floats are rounded, and extremes made floats again.
    Status close(const WorkContext& context);
    void clear();

  private:
    const DeviceSink& sink_;
    GroupStore& store_;
    std::vector<TotalView> totals_;
    struct Columns {
        uint32_t values;
        uint32_t lost;  // 0: there is none
    };
    std::vector<Columns> columns_;  // of these in the store
    DeviceArray<TotalView> device_totals_;
    uint64_t version_ = 0;       // of the store
    std::vector<double> sizes_;  // by program that is summed as floats: what was added amounts to
};

}  // namespace gpujoin::cuda
