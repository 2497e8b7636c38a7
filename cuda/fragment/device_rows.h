// DeviceRows: rows of the last stage in device memory, written for the client.
#pragma once

#include <memory>

#include "cuda/fragment/batch_work.h"
#include "engine/fragment/aggregator.h"

namespace gpujoin::cuda {

// Both outlive it.
std::unique_ptr<RowConsumer> make_device_rows(const SinkPlan& plan, BatchWork* work);

}  // namespace gpujoin::cuda
