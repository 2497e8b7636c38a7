// A join on the device.
#include "cuda/join.h"

#include <cstdio>

#include "cuda/results/cursor.h"
#include "engine/guard.h"
#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/radix/radix_plan.h"
#include "cuda/results/unordered_cursor.h"
#include "engine/algorithm.h"

namespace gpujoin::cuda {

namespace {

// Positions and rows are 32-bit on the device, and the last number stands for none.
constexpr uint64_t kMaxBuildRows = UINT32_MAX - 1;

Status set_flags(const WorkContext& context, const uint64_t* rows, uint64_t count, uint8_t* flags) {
    return for_each(context.handle(), count, [=] __device__(uint64_t i) { flags[rows[i]] = 1; });
}

}  // namespace

Status CudaJoin::append(const BatchView& batch, uint64_t first_row) {
    return guarded([&]() -> Status {
        AddTime timer(&join_.counters.append_ns);
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_.limits.cancel));
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(join_.acquire_stream({batch.rows}, &stream));
        GPUJOIN_RETURN_IF_FAILED(join_.build.append(join_.work(stream).upload(), batch, first_row));
        join_.counters.add_build(join_.spec, batch);
        return {};
    });
}

Status CudaJoin::seal(SealReport* report) {
    return guarded([&]() -> Status {
        AddTime timer(&join_.counters.seal_ns);
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_.limits.cancel));
        if (join_.build.rows() > kMaxBuildRows)
            return failure(Fault::DeviceMemory, "53200", "too many rows for the device")
                .with_detail("The build side has %llu rows.",
                             static_cast<unsigned long long>(join_.build.rows()));
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(join_.acquire_stream({join_.build.rows()}, &stream));
        WorkContext context = join_.work(stream);
        GPUJOIN_RETURN_IF_FAILED(seal_build_side(context));
        GPUJOIN_RETURN_IF_FAILED(make_marks(context));
        GPUJOIN_RETURN_IF_FAILED(end_step(context));
        GPUJOIN_RETURN_IF_FAILED(partition_build_side(context));
        if (!join_.radix_bits && !join_.plan.chooses_late)
            GPUJOIN_RETURN_IF_FAILED(join_.build_lookup(context, join_.plan));
        join_.counters.peak_seal_memory = join_.account.peak();
        join_.counters.algorithm = join_.plan.algorithm;
        *report = {};
        report->algorithm = join_.plan.algorithm;
        report->order = join_.result_order();
        report->build_rows = join_.build.rows();
        return {};
    });
}

Status CudaJoin::seal_build_side(const WorkContext& context) {
    UploadContext upload = context.upload();
    GPUJOIN_RETURN_IF_FAILED(join_.build.concatenate(upload));
    join_.build_views.clear();
    for (uint32_t i = 0; i < join_.spec.build_columns; i++)
        join_.build_views.push_back(join_.build.column(i));
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, join_.build_views, &join_.build_columns));
    for (int build = 0; build < 2; build++) {
        std::vector<uint16_t> numbers = required_columns(join_.spec, build);
        GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, numbers, &join_.required_numbers[build]));
        join_.required[build] = {join_.required_numbers[build].data(), static_cast<uint32_t>(numbers.size())};
    }
    GPUJOIN_RETURN_IF_FAILED(choose_layout(context));
    if (join_.plan.filters)
        GPUJOIN_RETURN_IF_FAILED(
            upload_vector(upload, std::vector<FilterProgram>{join_.spec.program}, &join_.program));
    if (join_.plan.only_filters())
        GPUJOIN_RETURN_IF_FAILED(join_.filter_columns.make(context, join_.spec.program, FilterSource::Build,
                                                           join_.build_columns.data(), join_.build.rows()));
    return upload_vector(upload, join_.plan.residual, &join_.residual);
}

// Where keys prove to be exact only in the end, their columns need no test.
Status CudaJoin::choose_layout(const WorkContext& context) {
    join_.layout = make_key_layout(join_.spec);
    join_.plan = plan_join(join_.spec, join_.build.rows(), has_exact_sort_key(join_.layout));
    if (join_.layout.parts == 0 || join_.plan.algorithm == Algorithm::NestedLoop) return {};
    GPUJOIN_RETURN_IF_FAILED(shorten_keys(context, join_.build_input(), join_.plan.merge, &join_.layout));
    if (!join_.plan.merge || !join_.layout.by_place) return {};
    JoinPlan exact = plan_join(join_.spec, join_.build.rows(), true);
    join_.plan.packed = std::move(exact.packed);
    join_.plan.residual = std::move(exact.residual);
    return {};
}

Status CudaJoin::partition_build_side(const WorkContext& context) {
    uint32_t bits =
        plan_radix_bits(join_.spec, join_.plan, join_.layout, join_.build.rows(), join_.device->facts());
    if (bits == 0) return {};
    RadixInput input =
        join_.radix_input(true, join_.build_views.data(), join_.build_columns.data(), join_.build.rows());
    PayloadSource payload = choose_payload(join_.build_views.data(), join_.spec.output, join_.spec.outputs);
    Status status = join_.radix.partition(context, input, payload, bits);
    if (status.ok()) status = context.stream.synchronize();
    if (status.fault == Fault::DeviceMemory) {  // then one table must do, which takes less at its peak
        join_.radix = {};
        return {};
    }
    if (status.ok()) join_.radix_bits = bits;
    return status;
}

// Flags by build row for the joins that scan the build side; coverage where whole ranges match at once.
Status CudaJoin::make_marks(const WorkContext& context) {
    if (!rows_of(join_.spec.kind).scans_build()) return {};
    uint64_t rows = join_.build.rows();
    GPUJOIN_RETURN_IF_FAILED(join_.matched.allocate(join_.account, rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), join_.matched.data(), 0, rows));
    if (!rows_of_probing(join_.spec).scans_build() || join_.plan.tests_candidates()) return {};
    GPUJOIN_RETURN_IF_FAILED(join_.coverage.allocate(join_.account, rows + 1, context.handle()));
    return fill_bytes(context.handle(), join_.coverage.data(), 0, rows + 1);
}

Status CudaJoin::probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_.limits.cancel));
        join_.counters.add_probe(join_.spec, batch);
        return start_cursor(batch, cursor);
    });
}

// A batch that does not pay for partitioning, or has no room for it, is looked up row by row.
Status CudaJoin::start_cursor(const BatchView& batch, std::unique_ptr<Cursor>* cursor) {
    if (join_.merges_unordered() || (join_.radix_bits && partitioning_pays(join_.build.rows(), batch.rows))) {
        auto started = std::make_unique<UnorderedCursor>(&join_);
        Status status = started->start(batch);
        if (status.ok()) *cursor = std::move(started);
        if (status.fault != Fault::DeviceMemory || !join_.radix_bits) return status;
    }
    auto started = std::make_unique<CudaCursor>(&join_);
    GPUJOIN_RETURN_IF_FAILED(started->start_probe(batch));
    *cursor = std::move(started);
    return {};
}

Status CudaJoin::mark_matched(std::span<const uint64_t> build_rows) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        if (build_rows.empty() || !join_.matched.data()) return {};
        std::vector<uint64_t> rows(build_rows.begin(), build_rows.end());
        for (uint64_t row : rows) {
            if (row >= join_.build.rows())
                return failure(Fault::Protocol, "08P01", "build row number %llu is out of range",
                               static_cast<unsigned long long>(row));
        }
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(join_.acquire_stream({rows.size()}, &stream));
        WorkContext context = join_.work(stream);
        DeviceArray<uint64_t> device_rows;
        GPUJOIN_RETURN_IF_FAILED(upload_vector(context.upload(), rows, &device_rows));
        GPUJOIN_RETURN_IF_FAILED(set_flags(context, device_rows.data(), rows.size(), join_.matched.data()));
        return stream.synchronize();
    });
}

Status CudaJoin::scan_build(bool matched, std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_.limits.cancel));
        auto started = std::make_unique<CudaCursor>(&join_);
        GPUJOIN_RETURN_IF_FAILED(started->start_scan(matched));
        *cursor = std::move(started);
        return {};
    });
}

Status CudaJoin::rewind() {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(join_.acquire_stream({join_.build.rows()}, &stream));
        GPUJOIN_RETURN_IF_FAILED(fill_bytes(stream.handle(), join_.matched.data(), 0, join_.matched.size()));
        GPUJOIN_RETURN_IF_FAILED(
            fill_bytes(stream.handle(), join_.coverage.data(), 0, join_.coverage.size()));
        return stream.synchronize();
    });
}

Status CudaJoin::export_build(const BuildConsumer& consumer) {
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(join_.device->use());
        StreamLease stream;
        GPUJOIN_RETURN_IF_FAILED(join_.acquire_stream({join_.build.rows()}, &stream));
        return join_.build.export_rows(join_.work(stream).upload(), consumer);
    });
}

JoinStats CudaJoin::stats() const {
    JoinStats stats = join_.counters.stats();
    stats.peak_memory = join_.account.peak();
    snprintf(stats.device, sizeof stats.device, "%s", join_.device->name().c_str());
    return stats;
}

}  // namespace gpujoin::cuda
