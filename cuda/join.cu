// A join on the device.
#include "cuda/join.h"

#include <algorithm>
#include <cstdio>

#include "cuda/cursor.h"
#include "cuda/guard.h"
#include "cuda/launch.cuh"
#include "cuda/primitives.h"
#include "cuda/radix_plan.h"
#include "cuda/range_sample.h"
#include "cuda/timer.h"
#include "cuda/unordered_cursor.h"
#include "engine/algorithm.h"
#include "engine/turn.h"

namespace gpujoin {

namespace {

// Positions and rows are 32-bit on the device, and the last number stands for none.
constexpr uint64_t kMaxBuildRows = UINT32_MAX - 1;

// The nullable columns of one side that occur in a term: a row with a NULL there matches nothing.
std::vector<uint16_t> required_columns(const JoinSpec& spec, bool build) {
    std::vector<uint16_t> numbers;
    auto add = [&](const Term* terms, uint32_t count) {
        for (uint32_t i = 0; i < count; i++) {
            uint16_t number = build ? terms[i].build_column : terms[i].probe_column;
            if ((build ? spec.build : spec.probe)[number].nullable) numbers.push_back(number);
        }
    };
    add(spec.equality, spec.equalities);
    add(spec.range, spec.ranges);
    add(spec.filter, spec.filters);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

Status set_flags(const WorkContext& context, const uint64_t* rows, uint64_t count, uint8_t* flags) {
    return for_each(context.handle(), count, [=] __device__(uint64_t i) { flags[rows[i]] = 1; });
}

}  // namespace

CudaJoin::CudaJoin(Device* device, const JoinSpec& spec, const Limits& limits)
    : device_(device),
      spec_(spec),
      limits_(limits),
      account_(&device->pool(), limits.device_memory),
      build_({spec_.build, spec_.build_columns}) {}

CudaJoin::~CudaJoin() {
    (void)device_->use();
}

WorkContext CudaJoin::work(const StreamLease& stream) {
    return {account_, device_->transfer(), stream, limits_.cancel};
}

Status CudaJoin::acquire_stream(const WorkSize& size, StreamLease* stream) {
    const Turn* turn = Turn::current();
    bool urgent = turn && turn->is_quick() && size.is_small();
    return stream->acquire(&device_->streams(), urgent ? Priority::Urgent : Priority::Ordinary);
}

WorkSize CudaJoin::size_of_probe(uint64_t rows) const {
    return gpujoin::size_of_probe(plan_, rows, build_.rows(), lookup_made_);
}

Status CudaJoin::append(const BatchView& batch) {
    return guarded([&]() -> Status {
        AddTime timer(&counters_.append_microseconds);
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits_.cancel));
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(acquire_stream({batch.rows}, &stream));
        GPUJOIN_RETURN_IF_FAILED(build_.append(work(stream).upload(), batch));
        counters_.build_batches++;
        counters_.build_bytes += batch_bytes({spec_.build, spec_.build_columns}, batch);
        return {};
    });
}

Status CudaJoin::seal(SealReport* report) {
    return guarded([&]() -> Status {
        AddTime timer(&counters_.seal_microseconds);
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits_.cancel));
        if (build_.rows() > kMaxBuildRows)
            return failure(Fault::DeviceMemory, "53200", "too many rows for the device")
                .with_detail("The build side has %llu rows.", static_cast<unsigned long long>(build_.rows()));
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(acquire_stream({build_.rows()}, &stream));
        WorkContext context = work(stream);
        GPUJOIN_RETURN_IF_FAILED(seal_build_side(context));
        GPUJOIN_RETURN_IF_FAILED(make_marks(context));
        GPUJOIN_RETURN_IF_FAILED(end_step(context));
        GPUJOIN_RETURN_IF_FAILED(partition_build_side(context));
        if (!radix_bits_ && !plan_.chooses_late) GPUJOIN_RETURN_IF_FAILED(build_lookup(context, plan_));
        peak_seal_memory_ = account_.peak();
        algorithm_ = plan_.algorithm;
        *report = {};
        report->algorithm = plan_.algorithm;
        report->order = result_order();
        report->build_rows = build_.rows();
        return {};
    });
}

Status CudaJoin::seal_build_side(const WorkContext& context) {
    UploadContext upload = context.upload();
    GPUJOIN_RETURN_IF_FAILED(build_.concatenate(upload));
    build_views_.clear();
    for (uint32_t i = 0; i < spec_.build_columns; i++) build_views_.push_back(build_.column(i));
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, build_views_, &build_columns_));
    for (int build = 0; build < 2; build++) {
        std::vector<uint16_t> numbers = required_columns(spec_, build);
        GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, numbers, &required_numbers_[build]));
        required_[build] = {required_numbers_[build].data(), static_cast<uint32_t>(numbers.size())};
    }
    GPUJOIN_RETURN_IF_FAILED(choose_layout(context));
    if (plan_.filters)
        GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, std::vector<FilterProgram>{spec_.program}, &program_));
    if (plan_.only_filters())
        GPUJOIN_RETURN_IF_FAILED(filter_columns_.make(context, spec_.program, FilterSource::Build,
                                                      build_columns_.data(), build_.rows()));
    return upload_vector(upload, plan_.residual, &residual_);
}

// Where keys prove to be exact only in the end, their columns need no test.
Status CudaJoin::choose_layout(const WorkContext& context) {
    layout_ = make_key_layout(spec_);
    plan_ = plan_join(spec_, build_.rows(), has_exact_sort_key(layout_));
    if (layout_.parts == 0 || plan_.algorithm == Algorithm::NestedLoop) return {};
    GPUJOIN_RETURN_IF_FAILED(shorten_keys(context, build_input(), plan_.merge, &layout_));
    if (!plan_.merge || !layout_.by_place) return {};
    JoinPlan exact = plan_join(spec_, build_.rows(), true);
    plan_.packed = std::move(exact.packed);
    plan_.residual = std::move(exact.residual);
    return {};
}

SpanInput CudaJoin::build_input() const {
    return {
        {build_views_.data(), build_columns_.data()}, required_of(true, build_views_.data()), build_.rows()};
}

// What was built by half is given back: another batch may try again, with more luck.
Status CudaJoin::build_lookup(const WorkContext& context, const JoinPlan& plan) {
    Status status = lookup_.build(context, spec_, plan, layout_, build_input(), lookup_payload());
    if (!status.ok()) lookup_ = {};
    lookup_made_ = status.ok();
    return status;
}

// Batches that come meanwhile wait for it. It is complete, not only queued, when the lock is released: other
// streams may use it.
Status CudaJoin::make_late_lookup(const WorkContext& context, const DeviceColumn* probe, uint64_t rows) {
    if (lookup_made_) return {};
    std::unique_lock lock = lock_in_turn(lookup_mutex_, limits_.cancel);
    AddTime timer(&counters_.seal_microseconds);
    GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits_.cancel));
    if (lookup_made_) return {};
    std::optional<uint16_t> column;
    if (plan_.chooses_late)
        GPUJOIN_RETURN_IF_FAILED(choose_range_column(
            spec_, sampled_side(context, probe, rows),
            sampled_side(context, build_views_.data(), build_.rows()), &column.emplace()));
    GPUJOIN_RETURN_IF_FAILED(
        build_lookup(context, plan_join(spec_, build_.rows(), has_exact_sort_key(layout_), column)));
    peak_seal_memory_ = account_.peak();
    return {};
}

RequiredColumns CudaJoin::required_of(bool build, const DeviceColumn* views) const {
    std::vector<uint16_t> numbers = required_columns(spec_, build);
    bool nulls = std::any_of(numbers.begin(), numbers.end(),
                             [=](uint16_t number) { return views[number].valid != nullptr; });
    return nulls ? required_[build] : RequiredColumns{};
}

RadixInput CudaJoin::radix_input(bool build, const DeviceColumn* views, const DeviceColumn* columns,
                                 uint64_t rows) const {
    RadixInput input{layout_, build, columns, nullptr, 0, required_of(build, views), rows};
    if (layout_.parts > 1) return input;
    const KeyPart& part = layout_.part[0];
    const DeviceColumn& column = views[build ? part.build_column : part.probe_column];
    bool integer = column.spec.order == ValueOrder::Signed || column.spec.order == ValueOrder::Unsigned;
    bool placed = integer && column.width == sizeof(uint64_t) && layout_.bytes == sizeof(uint32_t);
    if (layout_.by_place ? placed : column.width == layout_.bytes) input.plain_keys = column.values;
    // The order key of an integer's order key is the integer.
    uint64_t first = layout_.places.part[0].first;
    input.plain_first = order_key(column.spec, {reinterpret_cast<const std::byte*>(&first), sizeof first});
    return input;
}

Status CudaJoin::partition_build_side(const WorkContext& context) {
    uint32_t bits = plan_radix_bits(spec_, plan_, layout_, build_.rows(), device_->facts());
    if (bits == 0) return {};
    RadixInput input = radix_input(true, build_views_.data(), build_columns_.data(), build_.rows());
    PayloadSource payload = choose_payload(build_views_.data(), spec_.output, spec_.outputs);
    Status status = radix_.partition(context, input, payload, bits);
    if (status.ok()) status = context.stream.synchronize();
    if (status.fault == Fault::DeviceMemory) {  // then one table must do, which takes less at its peak
        radix_ = {};
        return {};
    }
    if (status.ok()) radix_bits_ = bits;
    return status;
}

bool CudaJoin::merges_unordered() const {
    return plan_.merge && spec_.order == OutputOrder::None && !spec_.client_decides &&
           !plan_.tests_candidates();
}

// Joins that mark build rows, give back some without a partner or test candidates need row numbers.
PayloadSource CudaJoin::lookup_payload() const {
    if (spec_.kind != JoinKind::Inner || spec_.client_decides || plan_.tests_candidates()) return {};
    if (plan_.merge && !merges_unordered()) return {};
    return choose_payload(build_views_.data(), spec_.output, spec_.outputs);
}

OutputOrder CudaJoin::result_order() const {
    return radix_bits_ || merges_unordered() ? OutputOrder::None : OutputOrder::Probe;
}

// Flags by build row for the joins that scan the build side; coverage where whole ranges match at once.
Status CudaJoin::make_marks(const WorkContext& context) {
    if (!rows_of(spec_.kind).scans_build()) return {};
    uint64_t rows = build_.rows();
    GPUJOIN_RETURN_IF_FAILED(matched_.allocate(account_, rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), matched_.data(), 0, rows));
    if (!rows_of_probing(spec_).scans_build() || plan_.tests_candidates()) return {};
    GPUJOIN_RETURN_IF_FAILED(coverage_.allocate(account_, rows + 1, context.handle()));
    return fill_bytes(context.handle(), coverage_.data(), 0, rows + 1);
}

ProbeWork CudaJoin::probe_work(const DeviceColumn* probe, uint64_t rows) const {
    ProbeWork work;
    work.probe = probe;
    work.rows = rows;
    work.lookup = lookup_.view();
    work.unique = lookup_.unique();
    work.terms = residual_.data();
    work.term_count = static_cast<uint32_t>(residual_.size());
    work.packed = lookup_.packed();
    work.tiles = lookup_.tiles();
    if (plan_.filters) work.filter = {&spec_.program, program_.data(), filter_columns_.view()};
    work.rule = slot_rule(spec_);
    if (rows_of_probing(spec_).scans_build()) work.marks = {matched_.data(), coverage_.data()};
    return work;
}

uint64_t CudaJoin::row_data() const {
    return build_.rows() ? build_.data_bytes() / build_.rows() : 0;
}

Status CudaJoin::probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits_.cancel));
        counters_.probe_batches++;
        counters_.probe_rows += batch.rows;
        counters_.probe_bytes += batch_bytes({spec_.probe, spec_.probe_columns}, batch);
        return start_cursor(batch, cursor);
    });
}

// A batch that does not pay for partitioning, or has no room for it, is looked up row by row.
Status CudaJoin::start_cursor(const BatchView& batch, std::unique_ptr<Cursor>* cursor) {
    if (merges_unordered() || (radix_bits_ && partitioning_pays(build_.rows(), batch.rows))) {
        auto started = std::make_unique<UnorderedCursor>(this);
        Status status = started->start(batch);
        if (status.ok()) *cursor = std::move(started);
        if (status.fault != Fault::DeviceMemory || !radix_bits_) return status;
    }
    auto started = std::make_unique<CudaCursor>(this);
    GPUJOIN_RETURN_IF_FAILED(started->start_probe(batch));
    *cursor = std::move(started);
    return {};
}

Status CudaJoin::mark_matched(std::span<const uint64_t> build_rows) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        if (build_rows.empty() || !matched_.data()) return {};
        std::vector<uint64_t> rows(build_rows.begin(), build_rows.end());
        for (uint64_t row : rows) {
            if (row >= build_.rows())
                return failure(Fault::Protocol, "08P01", "build row number %llu is out of range",
                               static_cast<unsigned long long>(row));
        }
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(acquire_stream({rows.size()}, &stream));
        WorkContext context = work(stream);
        DeviceArray<uint64_t> device_rows;
        GPUJOIN_RETURN_IF_FAILED(upload_vector(context.upload(), rows, &device_rows));
        GPUJOIN_RETURN_IF_FAILED(set_flags(context, device_rows.data(), rows.size(), matched_.data()));
        return stream.synchronize();
    });
}

Status CudaJoin::collect_marks(const WorkContext& context) {
    if (!coverage_.data()) return {};
    std::lock_guard lock(fold_mutex_);
    GPUJOIN_RETURN_IF_FAILED(fold_coverage(context, lookup_.view(), {matched_.data(), coverage_.data()}));
    return context.stream.synchronize();
}

Status CudaJoin::scan_build(bool matched, std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits_.cancel));
        auto started = std::make_unique<CudaCursor>(this);
        GPUJOIN_RETURN_IF_FAILED(started->start_scan(matched));
        *cursor = std::move(started);
        return {};
    });
}

Status CudaJoin::rewind() {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(acquire_stream({build_.rows()}, &stream));
        GPUJOIN_RETURN_IF_FAILED(fill_bytes(stream.handle(), matched_.data(), 0, matched_.size()));
        GPUJOIN_RETURN_IF_FAILED(fill_bytes(stream.handle(), coverage_.data(), 0, coverage_.size()));
        return stream.synchronize();
    });
}

Status CudaJoin::export_build(const std::function<Status(const BatchView&)>& consumer) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(device_->use());
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(acquire_stream({build_.rows()}, &stream));
        return build_.export_rows(work(stream).upload(), consumer);
    });
}

JoinStats CudaJoin::stats() const {
    JoinStats stats = {};
    stats.build_rows = build_.rows();
    stats.build_bytes = counters_.build_bytes;
    stats.build_batches = counters_.build_batches;
    stats.probe_rows = counters_.probe_rows;
    stats.probe_bytes = counters_.probe_bytes;
    stats.probe_batches = counters_.probe_batches;
    stats.append_ms = static_cast<double>(counters_.append_microseconds) / 1000;
    stats.seal_ms = static_cast<double>(counters_.seal_microseconds) / 1000;
    stats.probe_ms = static_cast<double>(counters_.probe_microseconds) / 1000;
    stats.peak_memory = account_.peak();
    stats.peak_seal_memory = peak_seal_memory_;
    stats.algorithm = algorithm_;
    snprintf(stats.device, sizeof stats.device, "%s", device_->name().c_str());
    return stats;
}

}  // namespace gpujoin
