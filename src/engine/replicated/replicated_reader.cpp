// See replicated_reader.h.
#include "engine/replicated/replicated_reader.h"

#include <utility>

#include "engine/guard.h"

namespace gpujoin {

namespace {

std::vector<KeptShare>& shares_of(const KeptScan& scan, KeptPosition& position, size_t devices) {
    std::call_once(position.is_shared, [&] {
        auto shares = std::make_shared<std::vector<KeptShare>>(devices);
        for (KeptShare& share : *shares) share.scan.conditions = scan.conditions;
        for (const KeptPart& part : scan.parts) (*shares)[part.number % devices].scan.add(part);
        position.shares = std::move(shares);
    });
    return *position.shares;
}

}  // namespace

ReplicatedReader::ReplicatedReader(std::span<const Replica> replicas, std::vector<Limits> limits,
                                   const KeptScan& scan, KeptPosition& position,
                                   std::span<const ColumnSpec> source, uint32_t most_rows,
                                   size_t first_replica)
    : replicas_(replicas),
      limits_(std::move(limits)),
      source_(source),
      most_rows_(most_rows),
      scan_(scan),
      position_(position),
      first_(first_replica) {}

Status ReplicatedReader::next(BatchView* batch) {
    return guarded([&] { return read(batch); });
}

Status ReplicatedReader::read(BatchView* batch) {
    std::vector<KeptShare>& shares = shares_of(scan_, position_, replicas_.size());
    for (; shares_read_ < replicas_.size(); shares_read_++) {
        const size_t at = (first_ + shares_read_) % replicas_.size();
        KeptShare& share = shares[at];
        if (!reader_)
            reader_ =
                replicas_[at].engine->read_kept(share.scan, share.position, source_, most_rows_, limits_[at]);
        GPUJOIN_RETURN_IF_FAILED(reader_->next(batch));
        batch->replica = static_cast<uint32_t>(at);
        if (batch->rows > 0) return {};
        reader_.reset();
    }
    *batch = {};
    return {};
}

}  // namespace gpujoin
