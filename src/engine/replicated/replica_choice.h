// ReplicaChoice: which replica of a join works on the next batch: the one that has the fewest, and of such
// ones the next in turn.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"

namespace gpujoin {

class ReplicaChoice {
  public:
    explicit ReplicaChoice(size_t replicas) : running_(replicas) {}
    size_t replicas() const { return running_.size(); }

    // Thread-safe.
    size_t least_busy();
    // The cursor of a batch that a replica works on, which counts until it is destroyed. Not outlived by it.
    std::unique_ptr<Cursor> count(size_t replica, std::unique_ptr<Cursor> cursor);

  private:
    std::vector<std::atomic<uint32_t>> running_;  // cursors of each
    std::atomic<uint32_t> turn_{0};
};

}  // namespace gpujoin
