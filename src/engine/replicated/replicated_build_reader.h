// ReplicatedBuildReader: reads kept rows for the build sides of several devices, of which each needs all
// rows, under the same numbers. Each device reads them from its own memory: the readers choose the same rows
// in the same order, as many at once. When one of them has no room, or has its rows in host memory anyway,
// all go on with rows in host memory, which a single one of the readers gives.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/kept/kept_view.h"

namespace gpujoin {

class ReplicatedBuildReader : public KeptBuildReader {
  public:
    // Of each replica, in their order, with a position of its own; they give rows in batches that begin and
    // end at the same ones.
    explicit ReplicatedBuildReader(std::vector<std::unique_ptr<KeptBuildReader>> readers)
        : readers_(std::move(readers)), batches_(readers_.size()) {}

    // Device memory: BatchView::copies has the rows of each replica.
    Status next(BatchView* batch) override;
    bool has_begun() const override { return readers_.front()->has_begun(); }
    void leave_device(bool again) override;

  private:
    Status read_on_devices(BatchView* batch);
    Status go_on_alone(BatchView* batch);

    std::vector<std::unique_ptr<KeptBuildReader>> readers_;  // the first one alone: from host memory
    std::vector<BatchView> batches_;
};

}  // namespace gpujoin
