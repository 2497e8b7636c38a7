// A probe batch on the device: what cursors have of it as long as they give results.
#pragma once

#include <span>
#include <vector>

#include "cuda/columns/columns.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

class ProbeColumns {
  public:
    // Uploads a batch in the stream's order. Columns on the device stay where they are, as long as this
    // lives.
    Status upload(const WorkContext& context, const JoinSpec& spec, const BatchView& batch) {
        std::span<const ColumnSpec> specs(spec.probe, spec.probe_columns);
        GPUJOIN_RETURN_IF_FAILED(upload_columns(context.upload(), specs, batch, true, &columns_));
        for (size_t i = 0; i < specs.size(); i++) views_.push_back(columns_[i].view(specs[i]));
        return mail_vector(context, views_, &device_views_);
    }

    // The same columns for the host, which plans with them, and for kernels.
    const std::vector<DeviceColumn>& views() const { return views_; }
    const DeviceColumn* device_views() const { return device_views_.data(); }

  private:
    std::vector<OwnedColumn> columns_;
    std::vector<DeviceColumn> views_;
    DeviceArray<DeviceColumn> device_views_;
};

}  // namespace gpujoin::cuda
