// ReplicatedJoin: a stage of a replicated fragment: joins of several engines with the same build side, as
// one. Rows are joined through the fragment alone, and no build rows come out by whether they have found a
// match.
#pragma once

#include <utility>
#include <vector>

#include "engine/engine.h"

namespace gpujoin {

class ReplicatedJoin final : public Join {
  public:
    // Not owned; they outlive it.
    explicit ReplicatedJoin(std::vector<Join*> replicas) : replicas_(std::move(replicas)) {}

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
};

}  // namespace gpujoin
