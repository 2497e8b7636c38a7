// See replicated_join.h. Batches are appended to one replica after the other: the last one has those that all
// of them have.
#include "engine/replicated/replicated_join.h"

namespace gpujoin {

Status ReplicatedJoin::append(const BatchView& batch, uint64_t first_row) {
    const bool is_on_devices = batch.memory == Memory::Device;
    if (is_on_devices && batch.copies.size() != replicas_.size())
        return failure(Fault::Error, "XX000", "build rows of a replicated join lie on some devices alone");
    for (size_t i = 0; i < replicas_.size(); i++)
        GPUJOIN_RETURN_IF_FAILED(replicas_[i]->append(is_on_devices ? batch.copies[i] : batch, first_row));
    return {};
}

// All have counted the same facts, so that the report of one is that of each.
Status ReplicatedJoin::seal(SealReport* report) {
    for (Join* replica : replicas_) GPUJOIN_RETURN_IF_FAILED(replica->seal(report));
    return {};
}

Status ReplicatedJoin::probe(const BatchView&, std::unique_ptr<Cursor>*) {
    return failure(Fault::Error, "XX000", "a stage of a replicated fragment is not probed by itself");
}

// Nobody asks for build rows by that.
Status ReplicatedJoin::mark_matched(std::span<const uint64_t> build_rows) {
    return replicas_.front()->mark_matched(build_rows);
}

Status ReplicatedJoin::scan_build(bool, std::unique_ptr<Cursor>*) {
    return failure(Fault::Error, "XX000", "build rows of a replicated join are not scanned");
}

Status ReplicatedJoin::rewind() {
    for (Join* replica : replicas_) GPUJOIN_RETURN_IF_FAILED(replica->rewind());
    return {};
}

Status ReplicatedJoin::export_build(const BuildConsumer& consumer) {
    return replicas_.back()->export_build(consumer);
}

// Rows of the build side once, though each replica has them.
JoinStats ReplicatedJoin::stats() const {
    JoinStats sum = replicas_.front()->stats();
    for (size_t i = 1; i < replicas_.size(); i++) {
        const JoinStats one = replicas_[i]->stats();
        sum.probe_rows += one.probe_rows;
        sum.probe_bytes += one.probe_bytes;
        sum.probe_batches += one.probe_batches;
        sum.append_ms += one.append_ms;
        sum.seal_ms += one.seal_ms;
        sum.probe_ms += one.probe_ms;
        sum.peak_memory += one.peak_memory;
        sum.peak_seal_memory += one.peak_seal_memory;
        sum.fused |= one.fused;
    }
    return sum;
}

}  // namespace gpujoin
