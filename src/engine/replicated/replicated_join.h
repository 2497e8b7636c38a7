// ReplicatedJoin: joins of several engines with the same build side, as one. No build rows come out of it by
// whether they have found a match.
#pragma once

#include <vector>

#include "engine/replicated/replica_choice.h"

namespace gpujoin {

class ReplicatedJoin : public Join {
  public:
    // Not owned; they outlive it, as does the choice.
    ReplicatedJoin(std::vector<Join*> replicas, ReplicaChoice* choice)
        : replicas_(std::move(replicas)), choice_(*choice) {}

    Status append(const BatchView& batch, uint64_t first_row) override;
    Status seal(SealReport* report) override;
    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override;
    Status mark_matched(std::span<const uint64_t> build_rows) override;
    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override;
    Status rewind() override;
    Status export_build(const BuildConsumer& consumer) override;
    JoinStats stats() const override;

  private:
    const std::vector<Join*> replicas_;
    ReplicaChoice& choice_;
};

}  // namespace gpujoin
