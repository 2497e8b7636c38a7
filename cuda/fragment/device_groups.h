// DeviceGroups: the aggregator of rows in device memory.
#pragma once

#include <memory>

#include "cuda/fragment/batch_work.h"
#include "cuda/fragment/group_tables.h"

namespace gpujoin::cuda {

class DeviceGroups final : public Aggregator {
  public:
    // All but the limits outlive it.
    DeviceGroups(Device* device, const SinkPlan& plan, const Limits& limits, SinkCounters* counters);
    ~DeviceGroups() override { (void)device_->use(); }

    Status open();

    Status flush(std::unique_ptr<Cursor>* cursor) override;
    void clear() override { tables_.clear(); }
    uint64_t peak_memory() const override { return tables_.peak_memory(); }

    std::unique_ptr<RowConsumer> make_consumer(BatchWork* work);

  private:
    Device* const device_;
    const std::atomic<bool>* const cancel_;
    GroupTables tables_;
};

}  // namespace gpujoin::cuda
