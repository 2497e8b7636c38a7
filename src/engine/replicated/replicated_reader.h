// ReplicatedReader: reads kept rows from the devices that have them. A table's chunks are dealt out by their
// numbers, so that each scan finds a chunk's columns where the last one has left them. Readers begin with the
// shares of different devices, and go on to the others' when theirs is read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/kept/kept_view.h"
#include "engine/replicated/replica.h"

namespace gpujoin {

class ReplicatedReader : public KeptReader {
  public:
    // limits: one for each replica, which it may use there, with ledgers that are not owned.
    ReplicatedReader(std::span<const Replica> replicas, std::vector<Limits> limits, const KeptScan& scan,
                     KeptPosition& position, std::span<const ColumnSpec> source, uint32_t most_rows,
                     size_t first_replica);

    Status next(BatchView* batch) override;
    bool has_begun() const override { return shares_read_ > 0 || (reader_ && reader_->has_begun()); }

  private:
    Status read(BatchView* batch);

    const std::span<const Replica> replicas_;
    const std::vector<Limits> limits_;
    const std::span<const ColumnSpec> source_;
    const uint32_t most_rows_;
    const KeptScan& scan_;
    KeptPosition& position_;
    const size_t first_;
    size_t shares_read_ = 0;
    std::unique_ptr<KeptReader> reader_;  // of the current share
};

}  // namespace gpujoin
