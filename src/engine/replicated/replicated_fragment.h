// ReplicatedFragment: fragments of several engines with the same build sides, as one.
#pragma once

#include <memory>
#include <vector>

#include "engine/fragment.h"
#include "engine/replicated/replica_choice.h"
#include "engine/replicated/replicated_join.h"

namespace gpujoin {

class ReplicatedFragment : public Fragment {
  public:
    // stages: of each of them.
    ReplicatedFragment(std::vector<std::unique_ptr<Fragment>> replicas, size_t stages);

    Join& join(uint32_t stage) override { return *joins_[stage]; }
    Status run(const BatchView& source, std::unique_ptr<Cursor>* cursor) override;
    Status flush(std::unique_ptr<Cursor>* cursor) override;
    Status rewind() override;
    SinkStats sink_stats() const override;

  private:
    const std::vector<std::unique_ptr<Fragment>> replicas_;
    ReplicaChoice choice_;
    std::vector<std::atomic<uint64_t>> rows_;  // of the source, by replica
    std::vector<std::unique_ptr<ReplicatedJoin>> joins_;
};

}  // namespace gpujoin
