// Finding groups, making room for new ones, and adding to all.
#include "cuda/fragment/group_table.h"

#include "cuda/fragment/renew_vector.h"

namespace gpujoin::cuda {

namespace {

// Beyond so many groups it costs more memory than what is saved of the client's work on groups that come
// again.
constexpr uint64_t kMostGroups = 4u << 20;

}  // namespace

GroupTable::GroupTable(const DeviceSink& sink)
    : sink_(sink),
      store_(sink.plan().group_columns),
      index_(sink),
      totals_(sink, &store_),
      from_(sink.plan().group_columns.size()) {}

// The store's memory, where it is not what it was.
Status GroupTable::refresh(const WorkContext& context) {
    if (version_ == store_.version()) return {};
    GPUJOIN_RETURN_IF_FAILED(renew_vector(context, store_.views(), &stored_));
    version_ = store_.version();
    return {};
}

Status GroupTable::begin_groups(const WorkContext& context, std::span<const PickedView> inputs,
                                uint32_t new_groups) {
    const SinkPlan& plan = sink_.plan();
    for (size_t i = 0; i < plan.keys.size(); i++) from_[i] = inputs[plan.keys[i]];
    for (size_t i = 0; i < plan.aggregates.size(); i++)
        if (plan.aggregates[i].function == AggregateFunction::Any)
            from_[plan.keys.size() + i] = inputs[plan.aggregates[i].value];
    GPUJOIN_RETURN_IF_FAILED(store_.make_room(context, store_.groups() + new_groups));
    GPUJOIN_RETURN_IF_FAILED(store_.write(context, from_, {0, index_.new_rows()}, new_groups));
    return totals_.begin(context, new_groups);
}

Status GroupTable::add(const WorkContext& context, const RowPiece& piece, std::span<const PickedView> inputs,
                       const SinkValues& values, bool* is_full) {
    *is_full = !totals_.has_range(values.sizes(), piece.rows);
    if (*is_full) return {};
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    uint32_t new_groups = 0;
    const uint32_t* live = values.view().live;
    GPUJOIN_RETURN_IF_FAILED(index_.find(context, piece, live, stored_.data(), store_.groups(), &new_groups));
    *is_full = store_.groups() > 0 && store_.groups() + new_groups > kMostGroups;
    Status status;
    if (!*is_full && new_groups > 0) status = begin_groups(context, inputs, new_groups);
    if (*is_full || !status.ok()) {
        GPUJOIN_RETURN_IF_FAILED(index_.forget(context, piece, new_groups));
        return status;
    }
    if (store_.groups() + new_groups == 0) return {};  // all rows escaped, and there is nothing to add to
    GPUJOIN_RETURN_IF_FAILED(index_.keep(context, piece, live, store_.groups(), new_groups));
    store_.add(new_groups);
    totals_.take_range(values.sizes());
    return totals_.add(context, values.view(), index_.groups_of_rows());
}

void GroupTable::clear() {
    store_.clear();
    index_.clear();
    totals_.clear();
}

}  // namespace gpujoin::cuda
