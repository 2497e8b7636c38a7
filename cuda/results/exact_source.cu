// Pairs of candidates that all match: counts, sums, and an even expansion of slots into pairs.
#include <utility>

#include "cuda/results/counted_source.h"
#include "cuda/work/launch.cuh"
#include "cuda/results/load_balance.h"
#include "cuda/results/slot_rule.cuh"

namespace gpujoin::cuda {

namespace {

// Counts the slots of each probe row and marks the positions that are covered.
Status count_slots(const WorkContext& context, const ProbeWork& work, uint64_t* slots) {
    uint32_t* begin = work.candidates.begin.data();
    const uint32_t* count = work.candidates.count.data();
    SlotRule rule = work.rule;
    BuildMarks marks = work.marks;
    return for_each(context.handle(), work.rows, [=] __device__(uint64_t row) {
        slots[row] = settle(rule, marks, &begin[row], count[row]);
    });
}

__device__ uint32_t build_row(const LookupView& lookup, uint32_t begin, uint64_t offset) {
    return begin == kNoRow ? kNoRow : lookup.row_at(begin + offset);
}

Status expand_pairs(const WorkContext& context, const ProbeWork& work, const uint64_t* starts, uint64_t first,
                    uint64_t slots, PairBuffer* pairs) {
    OwnerTiles tiles;
    GPUJOIN_RETURN_IF_FAILED(tiles.find(context, starts, work.rows, first, slots));
    OwnerView owners = tiles.view();
    LookupView lookup = work.lookup;
    const uint32_t* begin = work.candidates.begin.data();
    uint32_t* probe = pairs->probe.data();
    uint32_t* build = pairs->build.data();
    return for_each(context.handle(), slots, [=] __device__(uint64_t i) {
        uint64_t row = owners.owner(i);
        probe[i] = static_cast<uint32_t>(row);
        build[i] = build_row(lookup, begin[row], first + i - starts[row]);
    });
}

class ExactSource : public CountedSource {
  public:
    explicit ExactSource(ProbeWork work) : CountedSource(std::move(work)) {}

    Status queue(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(slots_.prepare(context, work_.rows));
        GPUJOIN_RETURN_IF_FAILED(count_slots(context, work_, slots_.counts()));
        return slots_.sum(context);
    }

    Status skip_through(const WorkContext& context, uint32_t probe_row) override {
        GPUJOIN_RETURN_IF_FAILED(know_total(context));
        return slots_.skip_to(context, uint64_t{probe_row} + 1);
    }

  private:
    Status expand(const WorkContext& context, uint64_t first, uint64_t slots, PairBuffer* pairs) override {
        return expand_pairs(context, work_, slots_.starts(), first, slots, pairs);
    }
};

}  // namespace

SlotRule slot_rule(const JoinSpec& spec) {
    JoinRows gives = rows_of_probing(spec);
    if (gives.pairs) return gives.unmatched_probe_rows ? SlotRule::PairsOrNull : SlotRule::Pairs;
    if (gives.matched_probe_rows) return SlotRule::Matched;
    return gives.unmatched_probe_rows ? SlotRule::Unmatched : SlotRule::None;
}

Status make_exact_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    auto exact = std::make_unique<ExactSource>(std::move(work));
    GPUJOIN_RETURN_IF_FAILED(exact->queue(context));
    *source = std::move(exact);
    return {};
}

}  // namespace gpujoin::cuda
