// Results are laid out in device memory and go to the host in one copy.
#include "cuda/fragment/device_writer.h"

#include <algorithm>

#include "cuda/results/result_cut.h"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kLeastBudget = 4096;

}  // namespace

DeviceWriter::DeviceWriter(std::vector<ResultColumn> columns, bool names_rows)
    : columns_(std::move(columns)),
      shape_(make_result_shape(columns_, names_rows, false)),
      names_rows_(names_rows),
      data_bytes_(columns_.size()) {}

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

// The stages before have rows left that take memory, too: as much again stays free, but for the least.
Status DeviceWriter::reserve_staging(const WorkContext& context, uint64_t bytes) {
    if (bytes <= staging_.size()) return {};
    GPUJOIN_RETURN_IF_FAILED(staging_.allocate(context.account, bytes, context.handle()));
    if (bytes / 2 < kLeastBudget) return {};
    DeviceArray<std::byte> spare;
    return spare.allocate(context.account, bytes, context.handle());
}

// With less memory than there should be, results are smaller.
Status DeviceWriter::write(const WorkContext& context, std::span<const PickedView> columns,
                           const uint32_t* list, const uint32_t* source_rows, uint32_t* first, uint32_t rows,
                           const Sink& sink, ResultBatch* result) {
    const WrittenRows wanted{columns, {*first, list}, source_rows, rows - *first};
    for (uint64_t budget = sink.bytes;; budget /= 2) {
        const Status status = write(context, wanted, sink, budget, result);
        if (status.ok()) *first += result->rows;
        if (status.fault != Fault::DeviceMemory || budget / 2 < kLeastBudget) return status;
        GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
        staging_.reset();
        starts_.reset();
    }
}

Status DeviceWriter::write(const WorkContext& context, const WrittenRows& wanted, const Sink& sink,
                           uint64_t budget, ResultBatch* result) {
    const bool direct = sink.kind == Memory::Device;
    uint64_t fit = 0, needed = 0;
    if (!direct) GPUJOIN_RETURN_IF_FAILED(reserve_staging(context, budget));
    GPUJOIN_RETURN_IF_FAILED(
        measure(context, wanted.columns, wanted.choice, wanted.left, budget, &fit, &needed));
    if (fit == 0 && needed <= sink.bytes)
        return failure(Fault::DeviceMemory, "53200", "out of device memory")
            .with_detail("There is no room for a row of %llu bytes.",
                         static_cast<unsigned long long>(needed));
    if (fit == 0) {
        result->bytes_needed = needed;
        return {};
    }
    place_result(columns_, names_rows_, false, static_cast<uint32_t>(fit), data_bytes_, result);
    std::byte* target = direct ? sink.memory : staging_.data();
    Status status = gather(context, wanted.columns, wanted.choice, *result, target);
    if (status.ok() && names_rows_)
        status =
            cuda_status(cudaMemcpyAsync(target + result->probe_rows, wanted.source_rows + wanted.choice.first,
                                        fit * sizeof(uint32_t), cudaMemcpyDeviceToDevice, context.handle()),
                        "cudaMemcpyAsync");
    if (status.ok() && !direct)
        status = context.transfer.download(context.handle(), sink.memory, target, result->bytes, sink.kind);
    if (status.ok()) status = context.stream.synchronize();
    if (!status.ok()) *result = {};
    return status;
}

}  // namespace gpujoin::cuda
