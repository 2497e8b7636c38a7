// Build rows by whether they have found a match, and the folding of coverage into flags.
#include <algorithm>

#include "cuda/work/launch.cuh"
#include "cuda/results/pair_source.h"
#include "cuda/results/slots.h"
#include "wire/batch.h"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kWindow = 8 << 20;  // build rows

Status count_rows(const WorkContext& context, const uint8_t* matched, bool wanted, uint64_t first,
                  uint64_t rows, uint64_t* counts) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t i) {
        bool found = matched && matched[first + i];
        counts[i] = found == wanted;
    });
}

Status list_rows(const WorkContext& context, const uint64_t* starts, uint64_t rows, uint64_t window,
                 uint64_t first, uint64_t slots, uint32_t* probe, uint32_t* build) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t i) {
        uint64_t slot = starts[i] - first;
        if (starts[i] < first || slot >= slots || starts[i + 1] == starts[i]) return;
        probe[slot] = kNoProbeRow;
        build[slot] = static_cast<uint32_t>(window + i);
    });
}

class ScanSource : public PairSource {
  public:
    ScanSource(const uint8_t* matched, bool wanted, uint64_t build_rows)
        : matched_(matched), wanted_(wanted), build_rows_(build_rows) {}

    Status fill(const WorkContext& context, uint64_t want, PairBuffer* pairs, bool* done) override {
        for (bool has_counted = false; slots_.left() == 0 && next_ < build_rows_; has_counted = true) {
            if (has_counted && turn_is_over()) break;
            GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
            window_ = next_;
            uint64_t rows = std::min(kWindow, build_rows_ - window_);
            next_ = window_ + rows;
            GPUJOIN_RETURN_IF_FAILED(slots_.prepare(context, rows));
            GPUJOIN_RETURN_IF_FAILED(count_rows(context, matched_, wanted_, window_, rows, slots_.counts()));
            GPUJOIN_RETURN_IF_FAILED(slots_.sum(context));
            GPUJOIN_RETURN_IF_FAILED(slots_.finish(context));
        }
        uint64_t taken = 0;
        uint64_t first = slots_.take(want, &taken);
        *done = slots_.left() == 0 && next_ == build_rows_;
        GPUJOIN_RETURN_IF_FAILED(pairs->reserve(context, taken));
        return taken ? list_rows(context, slots_.starts(), slots_.owners(), window_, first, taken,
                                 pairs->probe.data(), pairs->build.data())
                     : Status{};
    }

    Status skip_through(const WorkContext&, uint32_t) override { return {}; }

  private:
    const uint8_t* matched_;
    const bool wanted_;
    const uint64_t build_rows_;
    uint64_t window_ = 0;  // where the current window begins
    uint64_t next_ = 0;    // where the next one does
    SlotRun slots_;
};

Status mark_covered(const WorkContext& context, const LookupView& lookup, const BuildMarks& marks,
                    const uint64_t* sums) {
    uint8_t* matched = marks.matched;
    return for_each(context.handle(), lookup.positions, [=] __device__(uint64_t position) {
        if (sums[position + 1] > 0) matched[lookup.row_at(position)] = 1;
    });
}

}  // namespace

std::unique_ptr<PairSource> make_scan_source(const uint8_t* matched, bool wanted, uint64_t build_rows) {
    return std::make_unique<ScanSource>(matched, wanted, build_rows);
}

// The exclusive sum at position + 1 is the inclusive sum at position: coverage has one element more than
// there are positions.
Status fold_coverage(const WorkContext& context, const LookupView& lookup, const BuildMarks& marks) {
    auto* sums = reinterpret_cast<uint64_t*>(marks.coverage);
    uint64_t elements = lookup.positions + 1;
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), sums, elements));
    GPUJOIN_RETURN_IF_FAILED(mark_covered(context, lookup, marks, sums));
    return fill_bytes(context.handle(), sums, 0, elements);
}

}  // namespace gpujoin::cuda
