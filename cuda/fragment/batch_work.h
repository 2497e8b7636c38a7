// BatchWork: what the parts of a workspace share: the device, accounts, and a stream for as long as a batch
// is on its way. Memory stays from batch to batch; each has been waited for when its stream goes back.
#pragma once

#include <atomic>

#include "cuda/device.h"
#include "cuda/work/work.h"
#include "engine/turn.h"

namespace gpujoin::cuda {

class BatchWork {
  public:
    // account: of what batches take. None is owned.
    BatchWork(Device* device, MemoryAccount* account, const std::atomic<bool>* cancel)
        : device_(*device), account_(*account), cancel_(cancel) {}
    ~BatchWork() { end(); }
    BatchWork(const BatchWork&) = delete;
    BatchWork& operator=(const BatchWork&) = delete;

    Status begin() {
        end();
        GPUJOIN_RETURN_IF_FAILED(device_.use());
        const Turn* turn = Turn::current();
        const bool is_quick = turn && turn->is_quick();
        return stream_.acquire(&device_.streams(), is_quick ? Priority::Urgent : Priority::Ordinary);
    }
    void end() {
        (void)device_.use();
        stream_.reset();
    }

    // The first thing that every entry does.
    Status use() const { return device_.use(); }
    // While a batch is on its way.
    WorkContext context() const { return context_of(account_); }
    WorkContext context_of(MemoryAccount& account) const {
        return {account, device_.transfer(), stream_, cancel_};
    }
    Status synchronize() const { return stream_.synchronize(); }

  private:
    Device& device_;
    MemoryAccount& account_;
    const std::atomic<bool>* const cancel_;
    StreamLease stream_;
};

}  // namespace gpujoin::cuda
