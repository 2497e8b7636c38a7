// Filling buffers window by window.
#include "cuda/results/window_source.h"

#include "cuda/work/launch.cuh"
#include "cuda/work/timer.h"

namespace gpujoin::cuda {

namespace {

constexpr double kFillMilliseconds = 50.0;  // then pairs that were found go out

Status flags_to_counts(const WorkContext& context, const uint8_t* found, uint64_t rows, uint32_t* count) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) { count[row] = found[row]; });
}

}  // namespace

Status WindowSource::make_flags(const WorkContext& context) {
    GPUJOIN_RETURN_IF_FAILED(found_.allocate(context.account, work_.rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), found_.data(), 0, work_.rows));
    if (!work_.filter.program) return {};
    GPUJOIN_RETURN_IF_FAILED(undecided_flag_.allocate(context.account, 1, context.handle()));
    work_.undecided = undecided_flag_.data();
    return fill_bytes(context.handle(), work_.undecided, 0, 1);
}

Status WindowSource::note_undecided(const WorkContext& context) {
    return work_.undecided ? read_back(context, work_.undecided, &undecided_) : Status{};
}

Status WindowSource::fill(const WorkContext& context, uint64_t want, PairBuffer* pairs, bool* done) {
    GPUJOIN_RETURN_IF_FAILED(begin(context));
    if (work_.rule > SlotRule::PairsOrNull) return fill_from_flags(context, want, pairs, done);
    GPUJOIN_RETURN_IF_FAILED(pairs->probe.reserve(context.account, want, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(pairs->build.reserve(context.account, want, context.handle()));
    pairs->first = pairs->last = 0;
    Timer timer;
    bool has_tested = false;
    while (pairs->last < want && (pairs->empty() || timer.milliseconds() < kFillMilliseconds)) {
        if (slots_.left() == 0) {
            if (!windows_left() || (has_tested && turn_is_over())) break;
            GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
            GPUJOIN_RETURN_IF_FAILED(test_window(context, true));
            has_tested = true;
            continue;
        }
        uint64_t taken = 0;
        uint64_t first = slots_.take(want - pairs->last, &taken);
        GPUJOIN_RETURN_IF_FAILED(expand(context, first, taken, pairs->probe.data() + pairs->last,
                                        pairs->build.data() + pairs->last));
        pairs->last += taken;
    }
    *done = slots_.left() == 0 && !windows_left();
    return {};
}

// Where a flag a probe row decides, all windows come first, perhaps in several turns.
Status WindowSource::fill_from_flags(const WorkContext& context, uint64_t want, PairBuffer* pairs,
                                     bool* done) {
    if (!flags_) {
        for (bool has_tested = false; windows_left(); has_tested = true) {
            if (has_tested && turn_is_over()) return {};
            GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
            GPUJOIN_RETURN_IF_FAILED(test_window(context, false));
        }
        GPUJOIN_RETURN_IF_FAILED(
            flags_to_counts(context, found_.data(), work_.rows, work_.candidates.count.data()));
        work_.marks = {};
        GPUJOIN_RETURN_IF_FAILED(make_exact_source(context, std::move(work_), &flags_));
    }
    return flags_->fill(context, want, pairs, done);
}

}  // namespace gpujoin::cuda
