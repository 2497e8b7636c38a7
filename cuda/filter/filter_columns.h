// The columns of one side that a filter program reads, made ready for tiles (filter_pairs.cuh).
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/filter/filter_pairs.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

class FilterColumns {
  public:
    // side: Probe or Build. columns: the side's columns, on the device.
    Status make(const WorkContext& context, const FilterProgram& program, FilterSource side,
                const DeviceColumn* columns, uint64_t rows);

    // On the device, by column number.
    const FilterColumn* view() const { return columns_.data(); }

  private:
    Status make_column(const WorkContext& context, const DeviceColumn* column, uint64_t rows,
                       FilterColumn* made);

    DeviceArray<FilterColumn> columns_;
    std::vector<DeviceArray<int64_t>> values_;
    std::vector<DeviceArray<uint32_t>> nulls_;
};

}  // namespace gpujoin::cuda
