// Memory of groups, and copying into it.
#include "cuda/fragment/group_store.h"

#include <algorithm>

#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kFewestGroups = 1024;
constexpr uint64_t kLeastDataRoom = 64u << 10;

// A start more than there are values of any length.
uint64_t bytes_of_values(const ColumnSpec& column, uint64_t groups) {
    const uint32_t width = fixed_width(column.type);
    return width ? groups * width : (groups + 1) * sizeof(uint64_t);
}

template <typename T>
Status copy_over(const WorkContext& context, const DeviceArray<T>& from, uint64_t count, DeviceArray<T>* to) {
    if (count == 0 || !from.data()) return {};
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(to->data(), from.data(), count * sizeof(T), cudaMemcpyDeviceToDevice,
                                       context.handle()));
    return {};
}

// The starts of new values, behind those that are there. The first one is that of the values behind the last.
Status append_starts(const WorkContext& context, const uint64_t* starts, uint64_t count, uint64_t base,
                     uint64_t* to) {
    return for_each(context.handle(), count + 1, [=] __device__(uint64_t i) { to[i] = base + starts[i]; });
}

}  // namespace

GroupStore::GroupStore(std::span<const ColumnSpec> columns) {
    for (const ColumnSpec& spec : columns) columns_.emplace_back().spec = spec;
}

Status GroupStore::make_room(const WorkContext& context, uint64_t groups) {
    return groups <= capacity_ ? Status{} : grow(context, std::max({groups, 2 * capacity_, kFewestGroups}));
}

// All is there before anything is given up.
Status GroupStore::grow(const WorkContext& context, uint64_t capacity) {
    std::vector<DeviceArray<std::byte>> values(columns_.size());
    std::vector<DeviceArray<uint8_t>> null_flags(columns_.size());
    for (size_t i = 0; i < columns_.size(); i++) {
        const Column& column = columns_[i];
        GPUJOIN_RETURN_IF_FAILED(
            values[i].allocate(context.account, bytes_of_values(column.spec, capacity), context.handle()));
        const uint64_t kept = groups_ > 0 ? bytes_of_values(column.spec, groups_) : 0;
        GPUJOIN_RETURN_IF_FAILED(copy_over(context, column.values, kept, &values[i]));
        if (!column.spec.nullable) continue;
        GPUJOIN_RETURN_IF_FAILED(null_flags[i].allocate(context.account, capacity, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(copy_over(context, column.null_flags, groups_, &null_flags[i]));
    }
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    for (size_t i = 0; i < columns_.size(); i++) {
        columns_[i].values = std::move(values[i]);
        columns_[i].null_flags = std::move(null_flags[i]);
    }
    capacity_ = capacity;
    version_++;
    return {};
}

Status GroupStore::make_data_room(const WorkContext& context, Column* column, uint64_t bytes) {
    if (bytes <= column->data.size()) return {};
    DeviceArray<std::byte> data;
    GPUJOIN_RETURN_IF_FAILED(data.allocate(
        context.account, std::max({bytes, 2 * column->data.size(), kLeastDataRoom}), context.handle()));
    GPUJOIN_RETURN_IF_FAILED(copy_over(context, column->data, column->data_bytes, &data));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    column->data = std::move(data);
    version_++;
    return {};
}

Status GroupStore::write(const WorkContext& context, std::span<const PickedView> from, RowChoice choice,
                         uint64_t groups) {
    GPUJOIN_RETURN_IF_FAILED(write_texts(context, from, choice, groups));
    std::vector<PickedTarget> targets;
    for (size_t i = 0; i < columns_.size(); i++) {
        const Column& column = columns_[i];
        if (!from[i].is_there()) continue;
        PickedTarget& target = targets.emplace_back(PickedTarget{from[i]});
        if (from[i].width) target.values = column.values.data() + groups_ * from[i].width;
        if (column.spec.nullable) target.null_flags = column.null_flags.data() + groups_;
    }
    return gather_picked(context, targets, choice, groups);
}

Status GroupStore::write_texts(const WorkContext& context, std::span<const PickedView> from, RowChoice choice,
                               uint64_t groups) {
    DeviceArray<uint64_t> starts;
    for (size_t i = 0; i < columns_.size(); i++) {
        Column& column = columns_[i];
        if (column.spec.type != ColumnType::Bytes) continue;
        GPUJOIN_RETURN_IF_FAILED(starts.reserve(context.account, groups + 1, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(find_picked_starts(context, from[i], choice, groups, starts.data()));
        uint64_t bytes = 0;
        GPUJOIN_RETURN_IF_FAILED(read_back(context, starts.data() + groups, &bytes));
        column.new_data_bytes = column.data_bytes + bytes;
        GPUJOIN_RETURN_IF_FAILED(make_data_room(context, &column, column.new_data_bytes));
        auto* to = reinterpret_cast<uint64_t*>(column.values.data()) + groups_;
        GPUJOIN_RETURN_IF_FAILED(append_starts(context, starts.data(), groups, column.data_bytes, to));
        GPUJOIN_RETURN_IF_FAILED(gather_picked_bytes(context, from[i], choice, groups, starts.data(), bytes,
                                                     nullptr, column.data.data() + column.data_bytes));
    }
    return {};
}

void GroupStore::add(uint64_t groups) {
    groups_ += groups;
    for (Column& column : columns_) column.data_bytes = column.new_data_bytes;
}

void GroupStore::clear() {
    groups_ = 0;
    for (Column& column : columns_) column.data_bytes = column.new_data_bytes = 0;
}

std::vector<PickedView> GroupStore::views() const {
    std::vector<PickedView> views;
    for (const Column& column : columns_) {
        PickedView& view = views.emplace_back();
        view.null_flags = column.null_flags.data();
        view.spec = column.spec;
        view.width = fixed_width(column.spec.type);
        view.values = view.width ? column.values.data() : nullptr;
        view.starts = view.width ? nullptr : reinterpret_cast<const uint64_t*>(column.values.data());
        view.data = column.data.data();
    }
    return views;
}

}  // namespace gpujoin::cuda
