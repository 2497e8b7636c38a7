// What the sources without tests have in common: all slots are counted and summed at once, and are handed out
// once their sum is known.
#pragma once

#include <utility>

#include "cuda/results/pair_source.h"
#include "cuda/results/slots.h"

namespace gpujoin::cuda {

class CountedSource : public PairSource {
  public:
    Status fill(const WorkContext& context, uint64_t want, PairBuffer* pairs, bool* done) final {
        GPUJOIN_RETURN_IF_FAILED(know_total(context));
        uint64_t taken = 0;
        uint64_t first = slots_.take(want, &taken);
        *done = slots_.left() == 0;
        GPUJOIN_RETURN_IF_FAILED(pairs->reserve(context, taken));
        return taken > 0 ? expand(context, first, taken, pairs) : Status{};
    }

  protected:
    explicit CountedSource(ProbeWork work) : work_(std::move(work)) {}

    // Writes the slots [first, first + slots).
    virtual Status expand(const WorkContext& context, uint64_t first, uint64_t slots, PairBuffer* pairs) = 0;

    // Waits for the sum, the first time.
    Status know_total(const WorkContext& context) {
        if (total_known_) return {};
        total_known_ = true;
        return slots_.finish(context);
    }

    ProbeWork work_;
    SlotRun slots_;  // summed when it was queued

  private:
    bool total_known_ = false;
};

}  // namespace gpujoin::cuda
