// Reads kept rows from columns that are resident on a device: tests the conditions and lays the rows that
// pass side by side there. Rows for which the device has no room are read from host memory.
#pragma once

#include <memory>

#include "cuda/device.h"
#include "engine/kept/kept_view.h"

namespace gpujoin::cuda {

// See Engine::read_kept() and read_kept_build(). The device outlives the reader.
std::unique_ptr<KeptBuildReader> make_resident_reader(Device* device, const KeptScan& scan,
                                                      KeptPosition& position,
                                                      std::span<const ColumnSpec> source, uint32_t most_rows,
                                                      const Limits& limits);

}  // namespace gpujoin::cuda
