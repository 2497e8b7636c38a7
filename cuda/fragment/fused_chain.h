// FusedChain: which stages of a fragment on one device are fused, that is, probed in one pass
// (fused_probe.h), and what all batches have in common for that.
//
// What can be fused is a stage in which a probe row comes out once or not at all, as one lookup of its key
// says, where the key is of the source or of one earlier stage that is fused, too: the first stages of a
// chain, as many as are of that kind.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/fragment/pickable_columns.h"
#include "cuda/sealed_join.h"
#include "engine/engine.h"
#include "engine/fragment/fragment_plan.h"

namespace gpujoin::cuda {

class FusedChain {
  public:
    // Once, before all else. The plan and the joins, which are of the CUDA engine, outlive it.
    void open(const FragmentPlan& plan, std::span<const std::unique_ptr<Join>> joins);

    // How many stages, from the first one on, are fused: none once memory was short. Once all are sealed.
    uint32_t fused_stages() const;

    const StagePlan& stage(size_t number) const { return plan_->stages[number]; }
    SealedJoin& join(size_t number) const { return *joins_[number]; }
    size_t stages() const { return joins_.size(); }
    // Of a stage that is fused: whose columns its key is of (LiveColumn::origin).
    uint16_t origin_of_key(size_t number) const { return stage(number).probe.front().origin; }

    // Whether that is the only column of a stage that has its values in the place of rows.
    bool is_key_held(size_t number) const {
        const uint16_t origin = origin_of_key(number);
        return origin > 0 && join(origin - 1u).lookup.holds_values();
    }

    // Whether columns of a stage are written side by side, since its rows have no build row at times.
    bool writes_columns() const;

    // By output of a stage: whether somebody behind so many stages reads it.
    std::vector<bool> read_behind(uint32_t stages, size_t number) const;

    // Those of a stage, which are made by who needs them first. Whoever has them keeps them.
    std::shared_ptr<PickableColumns> columns(size_t number);

    // There is not the memory for it: no later batch is to try.
    void give_up();

  private:
    const FragmentPlan* plan_ = nullptr;
    std::vector<SealedJoin*> joins_;
    std::atomic<bool> lacks_memory_{false};
    std::mutex mutex_;
    std::vector<std::shared_ptr<PickableColumns>> columns_;  // by stage, where they are asked for
};

}  // namespace gpujoin::cuda
