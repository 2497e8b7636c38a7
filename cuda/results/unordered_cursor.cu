// The cursor of results in any order.
#include "cuda/results/unordered_cursor.h"

#include <algorithm>
#include <utility>

#include "engine/guard.h"
#include "cuda/merge/merge_join.h"
#include "cuda/work/number_rows.cuh"
#include "cuda/radix/radix_join.h"

namespace gpujoin::cuda {

namespace {

// Whether probe rows without a match come out.
bool gives_unmatched(SlotRule rule) {
    return rule == SlotRule::PairsOrNull || rule == SlotRule::Unmatched;
}

}  // namespace

// Arrays are given back in the order of the stream, which is waited for before it goes back itself.
UnorderedCursor::~UnorderedCursor() {
    (void)join_->device->use();
}

Status UnorderedCursor::start(const BatchView& batch) {
    AddTime timer(&join_->counters.probe_ns);
    GPUJOIN_RETURN_IF_FAILED(join_->acquire_stream(join_->size_of_probe(batch.rows), &stream_));
    WorkContext context = join_->work(stream_);
    GPUJOIN_RETURN_IF_FAILED(probe_.upload(context, join_->spec, batch));
    return join_->radix_bits ? start_radix(context, batch.rows) : start_merge(context, batch.rows);
}

Status UnorderedCursor::start_radix(const WorkContext& context, uint64_t rows) {
    const JoinSpec& spec = join_->spec;
    RadixInput input = join_->radix_input(false, probe_.views().data(), probe_.device_views(), rows);
    RadixSide probe;
    GPUJOIN_RETURN_IF_FAILED(probe.partition(
        context, input, choose_payload(probe_.views().data(), spec.carry, spec.carried), join_->radix_bits));
    auto matcher = std::make_unique<RadixMatcher>(&join_->radix, std::move(probe), input.layout.bytes);
    GPUJOIN_RETURN_IF_FAILED(matcher->prepare(context));
    matcher_ = std::move(matcher);
    return {};
}

// With several bounds candidates are narrowed by the values of each probe row, so that its number is needed.
Status UnorderedCursor::start_merge(const WorkContext& context, uint64_t rows) {
    const JoinSpec& spec = join_->spec;
    const Lookup& lookup = join_->lookup;
    ProbeWork work = join_->probe_work(probe_.device_views(), rows);
    SortInput input{work.lookup.layout,
                    lookup.merge_probe_column(),
                    work.lookup.span,
                    false,
                    probe_.views().data(),
                    probe_.device_views(),
                    join_->required_of(false, probe_.views().data()),
                    rows};
    PayloadSource payload;
    if (work.lookup.bound_count < 2)
        payload = choose_payload(probe_.views().data(), spec.carry, spec.carried);
    SortedSide probe;
    GPUJOIN_RETURN_IF_FAILED(probe.sort(context, input, payload, gives_unmatched(work.rule)));
    GPUJOIN_RETURN_IF_FAILED(end_step(context));
    auto matcher = std::make_unique<MergeMatcher>(&lookup.merge_side(), std::move(probe), work.rule);
    GPUJOIN_RETURN_IF_FAILED(matcher->prepare(context, work));
    buffer_rows_ = std::min(buffer_rows_, std::max(matcher->pairs(), kLeastPairs));
    matcher_ = std::move(matcher);
    return {};
}

// Whether the sink's columns are just the payloads, and how many rows fit.
bool UnorderedCursor::writes_direct(const Sink& sink, uint64_t* capacity) const {
    const JoinSpec& spec = join_->spec;
    const PayloadSource& build = matcher_->build_payload();
    const PayloadSource& probe = matcher_->probe_payload();
    if (sink.kind != Memory::Device || !build.values || !probe.values) return false;
    if (spec.build[spec.output[0]].nullable || spec.probe[spec.carry[0]].nullable) return false;
    uint64_t slack = 2 * kBufferAlignment;
    uint64_t bytes = sink.bytes > slack ? sink.bytes - slack : 0;
    *capacity = std::min<uint64_t>(bytes / (build.bytes + probe.bytes), UINT32_MAX);
    return *capacity >= kLeastPairs;
}

// The columns are laid out for as many rows as fit, however many come.
Status UnorderedCursor::write_direct(const WorkContext& context, const Sink& sink, uint64_t capacity,
                                     ResultBatch* result) {
    const JoinSpec& spec = join_->spec;
    ResultColumn columns[] = {{spec.build[spec.output[0]].type, false},
                              {spec.probe[spec.carry[0]].type, false}};
    uint64_t no_data[2] = {};
    place_result(columns, false, false, static_cast<uint32_t>(capacity), no_data, result);
    PayloadOutput output{sink.memory + result->columns[0].values, sink.memory + result->columns[1].values,
                         capacity};
    uint64_t rows = 0;
    GPUJOIN_RETURN_IF_FAILED(matcher_->run(context, output, &rows, &matched_all_));
    result->rows = static_cast<uint32_t>(rows);
    return {};
}

// Room for a side's payloads. Those that are values become a column, and their row numbers are their places
// in the buffer.
Status UnorderedCursor::prepare_side(const WorkContext& context, const PayloadSource& payload,
                                     DeviceColumn* column, DeviceArray<std::byte>* values,
                                     DeviceArray<uint32_t>* numbers) const {
    GPUJOIN_RETURN_IF_FAILED(numbers->allocate(context.account, buffer_rows_, context.handle()));
    if (!payload.values) return {};
    GPUJOIN_RETURN_IF_FAILED(
        values->allocate(context.account, buffer_rows_ * payload.bytes, context.handle()));
    column->values = values->data();
    return number_rows(context, buffer_rows_, numbers->data());
}

Status UnorderedCursor::prepare_buffer(const WorkContext& context) {
    const JoinSpec& spec = join_->spec;
    std::vector<DeviceColumn> build_views = join_->build_views;
    std::vector<DeviceColumn> probe_views = probe_.views();
    GPUJOIN_RETURN_IF_FAILED(prepare_side(context, matcher_->build_payload(),
                                          build_views.data() + spec.output[0], &build_values_,
                                          &pairs_.build));
    GPUJOIN_RETURN_IF_FAILED(prepare_side(context, matcher_->probe_payload(),
                                          probe_views.data() + spec.carry[0], &probe_values_, &pairs_.probe));
    writer_ = std::make_unique<ResultWriter>(spec, build_views.data(), &probe_views, join_->row_data());
    return {};
}

Status UnorderedCursor::fill_buffer(const WorkContext& context) {
    if (!writer_) GPUJOIN_RETURN_IF_FAILED(prepare_buffer(context));
    void* build = build_values_.data() ? static_cast<void*>(build_values_.data()) : pairs_.build.data();
    void* probe = probe_values_.data() ? static_cast<void*>(probe_values_.data()) : pairs_.probe.data();
    pairs_.first = pairs_.last = 0;
    return matcher_->run(context, {build, probe, buffer_rows_}, &pairs_.last, &matched_all_);
}

Status UnorderedCursor::next(const Sink& sink, ResultBatch* result) {
    return guarded([&]() -> Status {
        AddTime timer(&join_->counters.probe_ns);
        *result = {};
        GPUJOIN_RETURN_IF_FAILED(join_->device->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_->limits.cancel));
        WorkContext context = join_->work(stream_);
        uint64_t capacity = 0;
        if (pairs_.empty() && !matched_all_ && writes_direct(sink, &capacity)) {
            GPUJOIN_RETURN_IF_FAILED(write_direct(context, sink, capacity, result));
        } else {
            if (pairs_.empty() && !matched_all_) GPUJOIN_RETURN_IF_FAILED(fill_buffer(context));
            if (!pairs_.empty()) GPUJOIN_RETURN_IF_FAILED(writer_->write(context, &pairs_, sink, result));
        }
        result->done = pairs_.empty() && matched_all_;
        return {};
    });
}

}  // namespace gpujoin::cuda
