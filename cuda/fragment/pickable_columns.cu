// Bringing columns of a build side into the form of batches.
#include "cuda/fragment/pickable_columns.h"

#include <utility>

#include "cuda/columns/gather_bytes.cuh"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

Status pack_validity(const WorkContext& context, const uint8_t* valid, uint64_t rows, uint8_t* bits) {
    return for_each(context.handle(), validity_bytes(rows), [=] __device__(uint64_t i) {
        const uint64_t first = 8 * i;
        uint32_t byte = 0;
        for (uint32_t j = 0; j < 8 && first + j < rows; j++)
            byte |= static_cast<uint32_t>(valid[first + j] != 0) << j;
        bits[i] = static_cast<uint8_t>(byte);
    });
}

// NULLs have no bytes.
Status find_text_starts(const WorkContext& context, const DeviceColumn& column, uint64_t rows,
                        uint64_t* starts) {
    return find_starts(context, rows, starts, [=] __device__(uint64_t row) {
        return column.is_valid(row) ? uint64_t{column.lengths[row]} : 0;
    });
}

Status gather_texts(const WorkContext& context, const DeviceColumn& column, uint64_t rows,
                    const uint64_t* starts, uint64_t data_bytes, std::byte* data) {
    return gather_bytes(context, rows, starts, data_bytes, data,
                        [=] __device__(uint64_t row) { return column.addresses[row]; });
}

}  // namespace

// What one stream has made is complete before another has it.
Status PickableColumns::make(const WorkContext& context, SealedJoin& join, const std::vector<bool>& wanted) {
    if (is_made_) return {};
    const std::unique_lock lock = lock_in_turn(mutex_, context.cancel);
    GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
    if (is_made_) return {};
    Status status = make_columns(context, join, wanted);
    if (status.ok()) status = context.stream.synchronize();
    if (!status.ok()) {
        owned_.clear();
        views_.clear();
    }
    is_made_ = status.ok();
    return status;
}

Status PickableColumns::make_columns(const WorkContext& context, SealedJoin& join,
                                     const std::vector<bool>& wanted) {
    // They stay when this workspace is gone.
    const WorkContext of_join{join.account, context.transfer, context.stream, context.cancel};
    owned_.resize(join.spec.outputs);
    views_.resize(join.spec.outputs);
    for (uint32_t i = 0; i < join.spec.outputs; i++)
        if (wanted[i])
            GPUJOIN_RETURN_IF_FAILED(make_column(of_join, join.build_views[join.spec.output[i]],
                                                 join.build.rows(), &owned_[i], &views_[i]));
    return {};
}

Status PickableColumns::make_column(const WorkContext& context, const DeviceColumn& column, uint64_t rows,
                                    Owned* owned, ColumnView* view) {
    if (column.valid) {
        GPUJOIN_RETURN_IF_FAILED(
            owned->validity.allocate(context.account, validity_bytes(rows), context.handle()));
        GPUJOIN_RETURN_IF_FAILED(pack_validity(context, column.valid, rows, owned->validity.data()));
        view->validity = owned->validity.data();
    }
    view->values = column.values;
    if (column.width) return {};
    DeviceArray<uint64_t> starts;
    GPUJOIN_RETURN_IF_FAILED(starts.allocate(context.account, rows + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(find_text_starts(context, column, rows, starts.data()));
    GPUJOIN_RETURN_IF_FAILED(read_back(context, starts.data() + rows, &view->data_bytes));
    if (view->data_bytes > UINT32_MAX)
        return failure(Fault::DeviceMemory, "53200", "too many bytes in a column of a fragment");
    GPUJOIN_RETURN_IF_FAILED(owned->offsets.allocate(context.account, rows + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(owned->data.allocate(context.account, view->data_bytes, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(copy_starts(context, rows, starts.data(), owned->offsets.data()));
    view->offsets = owned->offsets.data();
    view->data = owned->data.data();
    return gather_texts(context, column, rows, starts.data(), view->data_bytes, owned->data.data());
}

}  // namespace gpujoin::cuda
