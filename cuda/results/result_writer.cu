// Writing pairs into a sink.
#include "cuda/results/result_writer.h"

#include <algorithm>

#include "cuda/columns/gather.h"
#include "cuda/results/result_cut.h"
#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"

namespace gpujoin::cuda {

ResultWriter::ResultWriter(const JoinSpec& spec, const DeviceColumn* build,
                           const std::vector<DeviceColumn>* probe, uint64_t row_data, bool held_values)
    : probe_rows_(probe && spec.names_probe_rows),
      build_rows_(spec.client_decides),
      held_values_(held_values),
      row_data_(row_data) {
    for (uint32_t i = 0; i < spec.outputs; i++)
        outputs_.push_back({build[spec.output[i]], false, result_column(spec, i)});
    for (uint32_t i = 0; i < spec.carried; i++) {
        const ColumnSpec& column = spec.probe[spec.carry[i]];
        DeviceColumn none;
        none.spec = column;
        none.width = fixed_width(column.type);
        outputs_.push_back({probe ? (*probe)[spec.carry[i]] : none, true, carried_column(spec, i, probe)});
    }
    for (const OutputColumn& output : outputs_) shapes_.push_back(output.shape);
    shape_ = make_result_shape(shapes_, probe_rows_, build_rows_);
    data_bytes_.resize(outputs_.size());
}

uint64_t ResultWriter::wanted_pairs(uint64_t sink_bytes) const {
    uint64_t rows = cut_rows(shape_, kMaxBatchRows, sink_bytes);
    if (shape_.bytes_columns > 0) {
        // A little less than what should fit: a few rows that do not would make a batch of their own.
        constexpr uint64_t kSample = 1024;
        uint64_t row = result_bytes(shape_, kSample) / kSample + row_data_ + 1;
        rows = std::min(rows, sink_bytes / 32 * 31 / row);
    }
    return std::max<uint64_t>(rows, 1);
}

// Finds how many pairs fit, and the data bytes of each column for so many.
Status ResultWriter::measure(const WorkContext& context, const PairBuffer& pairs, uint64_t budget,
                             uint64_t* rows, uint64_t* needed) {
    uint64_t count = pairs.last - pairs.first;
    measured_ = count;
    if (shape_.bytes_columns == 0) {
        *rows = cut_rows(shape_, count, budget);
        *needed = result_bytes(shape_, 1);
        return {};
    }
    GPUJOIN_RETURN_IF_FAILED(
        data_starts_.reserve(context.account, shape_.bytes_columns * (count + 1), context.handle()));
    uint64_t* starts = data_starts_.data();
    for (const OutputColumn& output : outputs_) {
        if (output.source.width) continue;
        const uint32_t* from = (output.from_probe ? pairs.probe : pairs.build).data() + pairs.first;
        GPUJOIN_RETURN_IF_FAILED(gather_lengths(context, output.source, from, count, starts));
        GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), starts, count + 1));
        starts += count + 1;
    }
    return cut_result(context, shapes_, shape_, data_starts_.data(), count, budget,
                      {rows, needed, data_bytes_.data()});
}

Status ResultWriter::gather(const WorkContext& context, const PairBuffer& pairs, const ResultBatch& result,
                            std::byte* target) const {
    const uint32_t* probe = pairs.probe.data() + pairs.first;
    const uint32_t* build = pairs.build.data() + pairs.first;
    uint64_t rows = result.rows;
    if (probe_rows_)
        GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(target + result.probe_rows, probe, rows * sizeof(uint32_t),
                                           cudaMemcpyDeviceToDevice, context.handle()));
    if (build_rows_) GPUJOIN_RETURN_IF_FAILED(widen_rows(context, build, rows, target + result.build_rows));
    const uint64_t* starts = data_starts_.data();
    for (size_t i = 0; i < outputs_.size(); i++) {
        const OutputColumn& output = outputs_[i];
        const ColumnBuffers& buffers = result.columns[i];
        bool held = held_values_ && !output.from_probe;
        const uint32_t* from = output.from_probe || held ? probe : build;  // any row is none of kNoRow
        if (output.shape.nullable)
            GPUJOIN_RETURN_IF_FAILED(
                gather_validity(context, output.source, from, rows, target + buffers.validity));
        if (held) {
            GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(target + buffers.values, build, rows * sizeof(uint32_t),
                                               cudaMemcpyDeviceToDevice, context.handle()));
        } else if (output.source.width) {
            GPUJOIN_RETURN_IF_FAILED(
                gather_fixed(context, output.source, from, rows, target + buffers.values));
        } else {
            GPUJOIN_RETURN_IF_FAILED(gather_bytes(context, output.source, from, starts, rows,
                                                  buffers.data_bytes, target + buffers.values,
                                                  target + buffers.data));
            starts += measured_ + 1;
        }
    }
    return {};
}

Status ResultWriter::write(const WorkContext& context, PairBuffer* pairs, const Sink& sink,
                           ResultBatch* result) {
    uint64_t rows = 0;
    uint64_t needed = 0;
    GPUJOIN_RETURN_IF_FAILED(measure(context, *pairs, sink.bytes, &rows, &needed));
    if (rows == 0) {
        result->bytes_needed = needed;
        return {};
    }
    place_result(shapes_, probe_rows_, build_rows_, static_cast<uint32_t>(rows), data_bytes_, result);
    bool direct = sink.kind == Memory::Device;
    if (!direct) GPUJOIN_RETURN_IF_FAILED(staging_.reserve(context.account, result->bytes, context.handle()));
    std::byte* target = direct ? sink.memory : staging_.data();
    GPUJOIN_RETURN_IF_FAILED(gather(context, *pairs, *result, target));
    if (!direct)
        GPUJOIN_RETURN_IF_FAILED(
            context.transfer.download(context.handle(), sink.memory, target, result->bytes, sink.kind));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    pairs->first += rows;
    return {};
}

}  // namespace gpujoin::cuda
