// The cursor of a radix join.
#include "cuda/radix_cursor.h"

#include <algorithm>

#include "cuda/guard.h"
#include "cuda/launch.cuh"
#include "cuda/timer.h"

namespace gpujoin {

namespace {

constexpr uint64_t kBufferRows = kMaxBatchRows;

Status number_rows(const WorkContext& context, uint64_t count, DeviceArray<uint32_t>* numbers) {
    GPUJOIN_RETURN_IF_FAILED(numbers->allocate(context.account, count, context.handle()));
    uint32_t* to = numbers->data();
    return for_each(context.handle(), count,
                    [=] __device__(uint64_t i) { to[i] = static_cast<uint32_t>(i); });
}

}  // namespace

RadixPayload choose_payload(const DeviceColumn* columns, const uint16_t* numbers, uint32_t count) {
    if (count != 1) return {};
    const DeviceColumn& column = columns[numbers[0]];
    if (column.valid || (column.width != sizeof(uint32_t) && column.width != sizeof(uint64_t))) return {};
    return {column.values, column.width};
}

// Arrays are given back in the order of the stream, which is waited for before it goes back itself.
RadixCursor::~RadixCursor() {
    (void)join_->device_->use();
}

Status RadixCursor::start(const BatchView& batch) {
    AddTime timer(&join_->counters_.probe_microseconds);
    const JoinSpec& spec = join_->spec_;
    GPUJOIN_RETURN_IF_FAILED(stream_.acquire(&join_->device_->streams()));
    WorkContext context = join_->work(stream_);
    std::span<const ColumnSpec> specs(spec.probe, spec.probe_columns);
    GPUJOIN_RETURN_IF_FAILED(upload_columns(context.upload(), specs, batch, true, &columns_));
    for (size_t i = 0; i < specs.size(); i++) views_.push_back(columns_[i].view(specs[i]));
    GPUJOIN_RETURN_IF_FAILED(mail_vector(context, views_, &device_views_));
    RadixInput input = join_->radix_input(false, views_.data(), device_views_.data(), batch.rows);
    GPUJOIN_RETURN_IF_FAILED(probe_.partition(
        context, input, choose_payload(views_.data(), spec.carry, spec.carried), join_->radix_bits_));
    matcher_ = std::make_unique<RadixMatcher>(&join_->radix_, &probe_, input.layout.bytes);
    return matcher_->prepare(context);
}

// Whether the sink's columns are just the payloads, and how many rows fit.
bool RadixCursor::writes_direct(const Sink& sink, uint64_t* capacity) const {
    const JoinSpec& spec = join_->spec_;
    const RadixPayload& build = join_->radix_.payload();
    if (sink.kind != Memory::Device || !build.values || !probe_.payload().values) return false;
    if (spec.build[spec.output[0]].nullable || spec.probe[spec.carry[0]].nullable) return false;
    uint64_t slack = 2 * kBufferAlignment;
    uint64_t bytes = sink.bytes > slack ? sink.bytes - slack : 0;
    *capacity = std::min<uint64_t>(bytes / (build.bytes + probe_.payload().bytes), UINT32_MAX);
    return *capacity >= kRadixLeastRoom;
}

// The columns are laid out for as many rows as fit, however many come.
Status RadixCursor::write_direct(const WorkContext& context, const Sink& sink, uint64_t capacity,
                                 ResultBatch* result) {
    const JoinSpec& spec = join_->spec_;
    ResultColumn columns[] = {{spec.build[spec.output[0]].type, false},
                              {spec.probe[spec.carry[0]].type, false}};
    uint64_t no_data[2] = {};
    place_result(columns, false, false, static_cast<uint32_t>(capacity), no_data, result);
    RadixOutput output{sink.memory + result->columns[0].values, sink.memory + result->columns[1].values,
                       capacity};
    uint64_t rows = 0;
    GPUJOIN_RETURN_IF_FAILED(matcher_->run(context, output, &rows, &matched_all_));
    result->rows = static_cast<uint32_t>(rows);
    return {};
}

// A payload that is a value becomes a column, and its row numbers are its places in the buffer.
Status RadixCursor::prepare_buffer(const WorkContext& context) {
    const JoinSpec& spec = join_->spec_;
    const RadixPayload& build = join_->radix_.payload();
    const RadixPayload& probe = probe_.payload();
    std::vector<DeviceColumn> build_views = join_->build_views_;
    std::vector<DeviceColumn> probe_views = views_;
    GPUJOIN_RETURN_IF_FAILED(number_rows(context, kBufferRows, &pairs_.build));
    GPUJOIN_RETURN_IF_FAILED(number_rows(context, kBufferRows, &pairs_.probe));
    if (build.values) {
        GPUJOIN_RETURN_IF_FAILED(
            build_values_.allocate(context.account, kBufferRows * build.bytes, context.handle()));
        build_views[spec.output[0]].values = build_values_.data();
    }
    if (probe.values) {
        GPUJOIN_RETURN_IF_FAILED(
            probe_values_.allocate(context.account, kBufferRows * probe.bytes, context.handle()));
        probe_views[spec.carry[0]].values = probe_values_.data();
    }
    writer_ = std::make_unique<ResultWriter>(spec, build_views.data(), probe_views.data(), join_->row_data(),
                                             OutputOrder::None);
    return {};
}

Status RadixCursor::fill_buffer(const WorkContext& context) {
    if (!writer_) GPUJOIN_RETURN_IF_FAILED(prepare_buffer(context));
    void* build = build_values_.data() ? static_cast<void*>(build_values_.data()) : pairs_.build.data();
    void* probe = probe_values_.data() ? static_cast<void*>(probe_values_.data()) : pairs_.probe.data();
    pairs_.first = pairs_.last = 0;
    return matcher_->run(context, {build, probe, kBufferRows}, &pairs_.last, &matched_all_);
}

Status RadixCursor::next(const Sink& sink, ResultBatch* result) {
    return guarded([&]() -> Status {
        AddTime timer(&join_->counters_.probe_microseconds);
        *result = {};
        GPUJOIN_RETURN_IF_FAILED(join_->device_->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_->limits_.cancel));
        WorkContext context = join_->work(stream_);
        uint64_t capacity = 0;
        if (pairs_.empty() && !matched_all_ && writes_direct(sink, &capacity)) {
            GPUJOIN_RETURN_IF_FAILED(write_direct(context, sink, capacity, result));
        } else {
            if (pairs_.empty() && !matched_all_) GPUJOIN_RETURN_IF_FAILED(fill_buffer(context));
            if (!pairs_.empty()) GPUJOIN_RETURN_IF_FAILED(writer_->write(context, &pairs_, sink, result));
        }
        result->done = pairs_.empty() && matched_all_;
        join_->counters_.result_rows += result->rows;
        join_->counters_.result_bytes += result->bytes;
        return {};
    });
}

}  // namespace gpujoin
