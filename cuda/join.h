// A join on the device, as the contract has it.
#pragma once

#include <memory>
#include <span>

#include "cuda/sealed_join.h"
#include "engine/engine.h"

namespace gpujoin::cuda {

class CudaJoin : public Join {
  public:
    CudaJoin(Device* device, const JoinSpec& spec, const Limits& limits) : join_(device, spec, limits) {}

    Status append(const BatchView& batch, uint64_t first_row) override;
    Status seal(SealReport* report) override;
    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override;
    Status mark_matched(std::span<const uint64_t> build_rows) override;
    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override;
    Status rewind() override;
    Status export_build(const BuildConsumer& consumer) override;
    JoinStats stats() const override;

    SealedJoin& sealed() { return join_; }

  private:
    Status seal_build_side(const WorkContext& context);
    Status choose_layout(const WorkContext& context);
    Status make_marks(const WorkContext& context);
    // The partitions of the build side, where they pay and there is room.
    Status partition_build_side(const WorkContext& context);
    Status start_cursor(const BatchView& batch, std::unique_ptr<Cursor>* cursor);

    SealedJoin join_;
};

}  // namespace gpujoin::cuda
