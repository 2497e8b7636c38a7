// A run of slots: counts by owner turned into starts, and how many of the slots have been handed out.
#pragma once

#include <cstdint>

#include "cuda/work/primitives.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

class SlotRun {
  public:
    // Room for the counts of `owners` owners, to be written to counts().
    Status prepare(const WorkContext& context, uint64_t owners) {
        owners_ = owners;
        next_ = total_ = 0;
        GPUJOIN_RETURN_IF_FAILED(starts_.reserve(context.account, owners + 1, context.handle()));
        return fill_bytes(context.handle(), starts_.data() + owners, 0, 1);
    }

    // Queues the sums of the counts; total() is known after finish().
    Status sum(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(
            exclusive_sum(context.account, context.handle(), starts_.data(), owners_ + 1));
        GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(context.stream.mailbox(), starts_.data() + owners_,
                                           sizeof(uint64_t), cudaMemcpyDeviceToHost, context.handle()));
        return {};
    }

    Status finish(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
        total_ = context.stream.mailbox()[0];
        return {};
    }

    // Leaves out the slots of every owner before `owner`, and so many of its own.
    Status skip_to(const WorkContext& context, uint64_t owner, uint64_t more = 0) {
        uint64_t start = 0;
        GPUJOIN_RETURN_IF_FAILED(
            read_back(context, starts_.data() + (owner < owners_ ? owner : owners_), &start));
        if (start + more > next_) next_ = start + more;
        return {};
    }

    // Takes the next slots, at most `want`; returns the first.
    uint64_t take(uint64_t want, uint64_t* taken) {
        uint64_t first = next_;
        *taken = want < left() ? want : left();
        next_ += *taken;
        return first;
    }

    uint64_t* counts() { return starts_.data(); }
    const uint64_t* starts() const { return starts_.data(); }
    uint64_t owners() const { return owners_; }
    uint64_t total() const { return total_; }
    uint64_t left() const { return total_ - next_; }

  private:
    DeviceArray<uint64_t> starts_;
    uint64_t owners_ = 0;
    uint64_t total_ = 0;
    uint64_t next_ = 0;
};

}  // namespace gpujoin::cuda
