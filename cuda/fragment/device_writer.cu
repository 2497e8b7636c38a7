// Results are laid out in device memory and go to the host in one copy.
#include "cuda/fragment/device_writer.h"

#include <algorithm>

#include "cuda/results/result_cut.h"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kLeastStaging = 4096;

}  // namespace

DeviceWriter::DeviceWriter(std::vector<ResultColumn> columns, bool names_rows)
    : columns_(std::move(columns)),
      shape_(make_result_shape(columns_, names_rows, false)),
      names_rows_(names_rows),
      data_bytes_(columns_.size()) {}

// Makes room for results of *budget bytes. With less memory than there should be, for smaller ones.
Status DeviceWriter::stage(const WorkContext& context, uint64_t* budget) {
    Status status;
    for (uint64_t bytes = *budget; bytes > staging_.size(); bytes /= 2) {
        if (bytes < kLeastStaging && bytes < *budget) break;
        status = staging_.allocate(context.account, bytes, context.handle());
        if (status.fault != Fault::DeviceMemory) break;
    }
    if (staging_.size() == 0) return status;
    *budget = std::min(*budget, staging_.size());
    return {};
}

// Finds how many rows fit, and how many bytes of values of any length are in these.
Status DeviceWriter::measure(const WorkContext& context, std::span<const PickedView> columns,
                             RowChoice choice, uint64_t left, uint64_t budget, uint64_t* rows,
                             uint64_t* needed) {
    *rows = cut_rows(shape_, left, budget);
    *needed = result_bytes(shape_, 1);
    if (shape_.bytes_columns == 0) return {};
    measured_ = std::max<uint64_t>(*rows, 1);
    GPUJOIN_RETURN_IF_FAILED(
        starts_.reserve(context.account, shape_.bytes_columns * (measured_ + 1), context.handle()));
    uint64_t* starts = starts_.data();
    for (const PickedView& column : columns) {
        if (column.width) continue;
        GPUJOIN_RETURN_IF_FAILED(find_picked_starts(context, column, choice, measured_, starts));
        starts += measured_ + 1;
    }
    return cut_result(context, columns_, shape_, starts_.data(), measured_, budget,
                      {rows, needed, data_bytes_.data()});
}

Status DeviceWriter::gather(const WorkContext& context, std::span<const PickedView> columns, RowChoice choice,
                            const ResultBatch& result, std::byte* target) {
    targets_.clear();
    for (size_t i = 0; i < columns.size(); i++) {
        const ColumnBuffers& buffers = result.columns[i];
        PickedTarget& to = targets_.emplace_back(PickedTarget{columns[i]});
        if (columns[i].width) to.values = target + buffers.values;
        if (buffers.validity != kNoBuffer)
            to.validity = reinterpret_cast<uint32_t*>(target + buffers.validity);
    }
    GPUJOIN_RETURN_IF_FAILED(gather_picked(context, targets_, choice, result.rows));
    const uint64_t* starts = starts_.data();
    for (size_t i = 0; i < columns.size(); i++) {
        if (columns[i].width) continue;
        const ColumnBuffers& buffers = result.columns[i];
        GPUJOIN_RETURN_IF_FAILED(
            gather_picked_bytes(context, columns[i], choice, result.rows, starts, buffers.data_bytes,
                                reinterpret_cast<uint32_t*>(target + buffers.values), target + buffers.data));
        starts += measured_ + 1;
    }
    return {};
}

Status DeviceWriter::write(const WorkContext& context, std::span<const PickedView> columns,
                           const uint32_t* list, const uint32_t* source_rows, uint32_t* first, uint32_t rows,
                           const Sink& sink, ResultBatch* result) {
    const bool direct = sink.kind == Memory::Device;
    const RowChoice choice{*first, list};
    uint64_t budget = sink.bytes, fit = 0, needed = 0;
    if (!direct) GPUJOIN_RETURN_IF_FAILED(stage(context, &budget));
    GPUJOIN_RETURN_IF_FAILED(measure(context, columns, choice, rows - *first, budget, &fit, &needed));
    if (fit == 0 && needed <= sink.bytes)
        return failure(Fault::DeviceMemory, "53200", "out of device memory")
            .with_detail("A row of %llu bytes does not fit.", static_cast<unsigned long long>(needed));
    if (fit == 0) {
        result->bytes_needed = needed;
        return {};
    }
    place_result(columns_, names_rows_, false, static_cast<uint32_t>(fit), data_bytes_, result);
    std::byte* target = direct ? sink.memory : staging_.data();
    GPUJOIN_RETURN_IF_FAILED(gather(context, columns, choice, *result, target));
    if (names_rows_)
        GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(target + result->probe_rows, source_rows + *first,
                                           fit * sizeof(uint32_t), cudaMemcpyDeviceToDevice,
                                           context.handle()));
    if (!direct)
        GPUJOIN_RETURN_IF_FAILED(
            context.transfer.download(context.handle(), sink.memory, target, result->bytes, sink.kind));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    *first += static_cast<uint32_t>(fit);
    return {};
}

}  // namespace gpujoin::cuda
