// Joining two partitioned sides, a partition at a time, with a hash table in shared memory.
//
// The work is a list of items: a chunk of a partition's build tuples, small enough for a table, and a piece
// of the same partition's probe tuples. Nearly every partition is one item. One that is too large, because
// many rows share a key, is several: every chunk with every piece, each of which any block may take.
//
// Results are written in the order in which blocks reserve room for them. A block reserves for a round of
// probe tuples at once; the first round that finds no room writes as many whole probe tuples as fit, and what
// is left of its item waits for the next run.
#pragma once

#include <cstdint>
#include <utility>

#include "cuda/results/payload_matcher.h"
#include "cuda/radix/radix_partition.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// Build tuples [build_begin, build_begin + build_rows) against probe tuples [probe_begin, probe_end).
struct RadixItem {
    uint32_t build_begin;
    uint32_t build_rows;
    uint32_t probe_begin;
    uint32_t probe_end;
};

// What blocks share while they work through a list of items.
struct RadixProgress {
    unsigned long long reserved;  // result rows, also in vain
    unsigned long long written;   // result rows before the first reservation in vain; ~0: none was in vain
    uint32_t next;                // item to be taken
    uint32_t leftovers;           // items that were left unfinished
};

// Build tuples a partition should have on average, for keys of so many bytes.
uint32_t radix_partition_rows(uint32_t key_bytes);

// Shared memory that a block needs at most, whatever the widths.
uint64_t radix_shared_bytes();

// Joins a build side, not owned, with a probe side.
class RadixMatcher : public PayloadMatcher {
  public:
    RadixMatcher(const RadixSide* build, RadixSide probe, uint32_t key_bytes)
        : build_(build), probe_(std::move(probe)), key_bytes_(key_bytes) {}

    // Lists the items. Waits for the stream.
    Status prepare(const WorkContext& context);

    const PayloadSource& build_payload() const override { return build_->payload(); }
    const PayloadSource& probe_payload() const override { return probe_.payload(); }
    Status run(const WorkContext& context, const PayloadOutput& output, uint64_t* rows, bool* done) override;

  private:
    Status list_slice(const WorkContext& context);
    Status run_slice(const WorkContext& context, const PayloadOutput& output, RadixProgress* progress);
    bool is_done() const { return taken_ == slice_ && listed_ == items_; }

    const RadixSide* const build_;
    const RadixSide probe_;
    const uint32_t key_bytes_;
    uint64_t items_ = 0;                  // in all
    uint64_t listed_ = 0;                 // that have been in a slice
    uint32_t slice_ = 0;                  // items in the current slice
    uint32_t taken_ = 0;                  // of them, by blocks, and finished
    DeviceArray<uint64_t> item_starts_;   // by partition
    DeviceArray<RadixItem> slice_items_;  // the current slice
    DeviceArray<RadixItem> leftovers_;    // of a run
    DeviceArray<RadixProgress> progress_;
};

}  // namespace gpujoin::cuda
