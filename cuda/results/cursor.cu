// Cursors.
#include "cuda/results/cursor.h"

#include <algorithm>

#include "engine/guard.h"
#include "cuda/work/launch.cuh"
#include "engine/search.h"

namespace gpujoin::cuda {

namespace {

// The first of the waiting pairs that belongs to a probe row after `probe_row`.
Status find_pair_after(const WorkContext& context, const PairBuffer& pairs, uint32_t probe_row,
                       uint64_t* pair) {
    DeviceArray<uint64_t> result;
    GPUJOIN_RETURN_IF_FAILED(result.allocate(context.account, 1, context.handle()));
    uint64_t* to = result.data();
    const uint32_t* probe = pairs.probe.data();
    uint64_t first = pairs.first;
    uint64_t last = pairs.last;
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), 1, [=] __device__(uint64_t) {
        *to = first + upper_bound(probe + first, last - first, probe_row);
    }));
    return read_back(context, to, pair);
}

}  // namespace

// Arrays are given back in the order of the stream, which is waited for before it goes back itself.
CudaCursor::~CudaCursor() {
    (void)join_->device->use();
}

Status CudaCursor::start_probe(const BatchView& batch) {
    GPUJOIN_RETURN_IF_FAILED(join_->acquire_stream(join_->size_of_probe(batch.rows), &stream_));
    WorkContext context = join_->work(stream_);
    {
        AddTime timer(&join_->counters.probe_ns);
        GPUJOIN_RETURN_IF_FAILED(probe_.upload(context, join_->spec, batch));
    }
    GPUJOIN_RETURN_IF_FAILED(join_->make_late_lookup(context, probe_.views().data(), batch.rows));
    return queue_lookup(context, batch.rows);
}

Status CudaCursor::queue_lookup(const WorkContext& context, uint64_t rows) {
    AddTime timer(&join_->counters.probe_ns);
    ProbeWork work = join_->probe_work(probe_.device_views(), rows);
    GPUJOIN_RETURN_IF_FAILED(
        find_candidates(context, join_->lookup, work.probe, join_->required[0], rows, &work.candidates));
    auto make_source = work.tiles.tests                 ? make_tile_source
                       : join_->plan.only_filters()     ? make_filter_source
                       : join_->plan.tests_candidates() ? make_masked_source
                       : has_single_slots(work)         ? make_single_source
                                                        : make_exact_source;
    GPUJOIN_RETURN_IF_FAILED(make_source(context, std::move(work), &source_));
    writer_ = std::make_unique<ResultWriter>(join_->spec, join_->build_views.data(), &probe_.views(),
                                             join_->row_data(), join_->lookup.holds_values());
    return {};
}

Status CudaCursor::start_scan(bool matched) {
    GPUJOIN_RETURN_IF_FAILED(join_->acquire_stream({join_->build.rows()}, &stream_));
    GPUJOIN_RETURN_IF_FAILED(join_->collect_marks(join_->work(stream_)));
    source_ = make_scan_source(join_->matched.data(), matched, join_->build.rows());
    writer_ =
        std::make_unique<ResultWriter>(join_->spec, join_->build_views.data(), nullptr, join_->row_data());
    return {};
}

void CudaCursor::skip(uint32_t probe_row) {
    skip_row_ = std::max(skip_row_.value_or(0), probe_row);
}

// Pairs are in probe order: what is left out is the front of what waits, and of what the source has left.
Status CudaCursor::apply_skip(const WorkContext& context) {
    if (!skip_row_) return {};
    uint32_t probe_row = *skip_row_;
    skip_row_.reset();
    if (!pairs_.empty()) GPUJOIN_RETURN_IF_FAILED(find_pair_after(context, pairs_, probe_row, &pairs_.first));
    return pairs_.empty() ? source_->skip_through(context, probe_row) : Status{};
}

Status CudaCursor::next(const Sink& sink, ResultBatch* result) {
    return guarded([&]() -> Status {
        AddTime timer(&join_->counters.probe_ns);
        *result = {};
        GPUJOIN_RETURN_IF_FAILED(join_->device->use());
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(join_->limits.cancel));
        WorkContext context = join_->work(stream_);
        GPUJOIN_RETURN_IF_FAILED(apply_skip(context));
        if (pairs_.empty() && !source_done_)
            GPUJOIN_RETURN_IF_FAILED(
                source_->fill(context, writer_->wanted_pairs(sink.bytes), &pairs_, &source_done_));
        if (!pairs_.empty()) GPUJOIN_RETURN_IF_FAILED(writer_->write(context, &pairs_, sink, result));
        result->done = pairs_.empty() && source_done_;
        result->undecided = source_->undecided();
        return {};
    });
}

}  // namespace gpujoin::cuda
