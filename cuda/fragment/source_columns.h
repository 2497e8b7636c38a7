// SourceColumns: the columns of a source batch that are read, uploaded into one piece of memory as they come.
#pragma once

#include <span>

#include "cuda/fragment/device_scratch.h"

namespace gpujoin::cuda {

class SourceColumns {
  public:
    explicit SourceColumns(const BatchWork& work) : work_(work), memory_(work) {}

    // Fills the views, by number, of those columns; complete on return. What is on the device stays there.
    Status upload(const BatchView& source, std::span<const LiveColumn> columns, std::span<ColumnView> views);

  private:
    const BatchWork& work_;
    DeviceScratch memory_;
};

}  // namespace gpujoin::cuda
