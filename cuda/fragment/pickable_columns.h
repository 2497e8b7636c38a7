// PickableColumns: the columns that a join puts out, of all rows of its build side, as batches have them: so
// that later stages and sinks may read them by build row. Values of fixed types are read where they are;
// NULLs and values of any length are there once more.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/sealed_join.h"

namespace gpujoin::cuda {

class PickableColumns {
  public:
    // Once, for the first who asks; others, who want the same outputs, wait for it. The join is sealed, and
    // outlives this. 53200 where there is no room, or values of any length have more bytes than a batch may
    // have.
    Status make(const WorkContext& context, SealedJoin& join, const std::vector<bool>& wanted);

    // By output, after make(); only of those that were wanted.
    std::span<const ColumnView> views() const { return views_; }

  private:
    struct Owned {
        DeviceArray<uint8_t> validity;
        DeviceArray<uint32_t> offsets;
        DeviceArray<std::byte> data;
    };

    Status make_columns(const WorkContext& context, SealedJoin& join, const std::vector<bool>& wanted);
    Status make_column(const WorkContext& context, const DeviceColumn& column, uint64_t rows, Owned* owned,
                       ColumnView* view);

    std::mutex mutex_;
    std::atomic<bool> is_made_{false};
    std::vector<Owned> owned_;
    std::vector<ColumnView> views_;
};

}  // namespace gpujoin::cuda
