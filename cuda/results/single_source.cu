// Pairs where all candidates match and no probe row has more than one slot: its partner if build keys are
// unique, or itself in a semi or anti join. A bit a probe row says whether it has its slot, and 32 rows share
// a word of bits and the number of the first slot, so that little is summed and read again.
#include <algorithm>
#include <utility>

#include "cuda/results/counted_source.h"
#include "cuda/work/launch.cuh"
#include "cuda/results/slot_rule.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kUnitRows = Warp::kThreads;

// The rows of a unit before number `row` of the batch, as bits.
GPUJOIN_HD uint32_t rows_before(uint64_t row) {
    return (1u << (row % kUnitRows)) - 1;
}

// By unit: which rows have a slot, and how many do.
struct CountSingles {
    SlotRule rule;
    BuildMarks marks;
    uint64_t rows;
    uint32_t* begin;
    const uint32_t* count;
    uint32_t* masks;
    uint64_t* slots;

    __device__ void operator()(const Warp& warp, uint64_t unit) const {
        uint32_t mask = warp.ballot([&](uint32_t thread) {
            uint64_t row = unit * kUnitRows + thread;
            return row < rows && settle(rule, marks, &begin[row], count[row]) > 0;
        });
        warp.each([&](uint32_t thread) {
            if (thread > 0) return;
            masks[unit] = mask;
            slots[unit] = __popc(mask);
        });
    }
};

// Every probe row writes its own slot, if that is among the `slots` from number `first` on.
Status expand_singles(const WorkContext& context, const ProbeWork& work, const uint32_t* masks,
                      const uint64_t* starts, uint64_t first, uint64_t slots, PairBuffer* pairs) {
    LookupView lookup = work.lookup;
    const uint32_t* begin = work.candidates.begin.data();
    uint32_t* probe = pairs->probe.data();
    uint32_t* build = pairs->build.data();
    return for_each(context.handle(), work.rows, [=] __device__(uint64_t row) {
        uint32_t mask = masks[row / kUnitRows];
        uint64_t slot = starts[row / kUnitRows] + __popc(mask & rows_before(row)) - first;  // may wrap around
        if (!(mask >> (row % kUnitRows) & 1) || slot >= slots) return;
        probe[slot] = static_cast<uint32_t>(row);
        build[slot] = begin[row] == kNoRow ? kNoRow : lookup.row_at(begin[row]);
    });
}

class SingleSource : public CountedSource {
  public:
    explicit SingleSource(ProbeWork work) : CountedSource(std::move(work)) {}

    Status queue(const WorkContext& context) {
        uint64_t units = (work_.rows + kUnitRows - 1) / kUnitRows;
        GPUJOIN_RETURN_IF_FAILED(masks_.allocate(context.account, units, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(slots_.prepare(context, units));
        CountSingles count{work_.rule,
                           work_.marks,
                           work_.rows,
                           work_.candidates.begin.data(),
                           work_.candidates.count.data(),
                           masks_.data(),
                           slots_.counts()};
        GPUJOIN_RETURN_IF_FAILED(for_each_warp(context.handle(), units, count));
        return slots_.sum(context);
    }

    Status skip_through(const WorkContext& context, uint32_t probe_row) override {
        GPUJOIN_RETURN_IF_FAILED(know_total(context));
        uint64_t row = std::min(uint64_t{probe_row} + 1, work_.rows);
        if (row % kUnitRows == 0) return slots_.skip_to(context, row / kUnitRows);
        uint32_t mask = 0;
        GPUJOIN_RETURN_IF_FAILED(read_back(context, masks_.data() + row / kUnitRows, &mask));
        return slots_.skip_to(context, row / kUnitRows, __builtin_popcount(mask & rows_before(row)));
    }

  private:
    Status expand(const WorkContext& context, uint64_t first, uint64_t slots, PairBuffer* pairs) override {
        return expand_singles(context, work_, masks_.data(), slots_.starts(), first, slots, pairs);
    }

    DeviceArray<uint32_t> masks_;  // by unit; units own slots
};

}  // namespace

bool has_single_slots(const ProbeWork& work) {
    return work.unique || work.rule > SlotRule::PairsOrNull;
}

Status make_single_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    auto single = std::make_unique<SingleSource>(std::move(work));
    GPUJOIN_RETURN_IF_FAILED(single->queue(context));
    *source = std::move(single);
    return {};
}

}  // namespace gpujoin::cuda
