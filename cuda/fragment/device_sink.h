// DeviceSink: what kernels need of a sink of groups, the same for all batches.
#pragma once

#include <vector>

#include "cuda/work/work.h"
#include "engine/fragment/fragment_plan.h"
#include "engine/host_device.h"

namespace gpujoin::cuda {

// Whether a program gives an input as it is.
GPUJOIN_HD inline bool is_column(const FilterProgram& program) {
    return program.steps == 1 && program.step[0].source == FilterSource::Probe;
}

class DeviceSink {
  public:
    // The plan outlives it.
    explicit DeviceSink(const SinkPlan& plan);

    // Waits for the stream.
    Status upload(const WorkContext& context);

    const SinkPlan& plan() const { return plan_; }
    bool may_escape() const { return may_escape_; }
    bool is_truth(uint16_t program) const { return is_truth_[program] != 0; }
    // Programs whose values are summed as floats.
    const std::vector<uint16_t>& summed_floats() const { return summed_floats_; }

    // On the device.
    const FilterProgram* programs() const { return device_programs_.data(); }
    const uint8_t* truth_flags() const { return device_truths_.data(); }  // by program
    const AggregateSpec* aggregates() const { return device_aggregates_.data(); }
    const uint16_t* keys() const { return device_keys_.data(); }
    // The same of groups, whose keys are their first columns.
    const uint16_t* keys_of_groups() const { return device_keys_of_groups_.data(); }
    const uint16_t* summed_float_programs() const { return device_summed_floats_.data(); }

  private:
    const SinkPlan& plan_;
    bool may_escape_ = false;
    std::vector<uint8_t> is_truth_;
    std::vector<uint16_t> summed_floats_;
    DeviceArray<FilterProgram> device_programs_;
    DeviceArray<uint8_t> device_truths_;
    DeviceArray<AggregateSpec> device_aggregates_;
    DeviceArray<uint16_t> device_keys_;
    DeviceArray<uint16_t> device_keys_of_groups_;
    DeviceArray<uint16_t> device_summed_floats_;
};

}  // namespace gpujoin::cuda
