// A join on the device: the build side while it grows, and from seal on the lookup structure that cursors
// share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/build_side.h"
#include "cuda/device.h"
#include "cuda/filter_columns.h"
#include "cuda/lookup.h"
#include "cuda/pair_source.h"
#include "cuda/plan.h"
#include "cuda/radix_partition.h"
#include "cuda/work_size.h"
#include "engine/engine.h"

namespace gpujoin {

// Counters of a join, added to by several threads.
struct JoinCounters {
    std::atomic<uint64_t> build_bytes{0}, build_batches{0};
    std::atomic<uint64_t> probe_rows{0}, probe_bytes{0}, probe_batches{0};
    std::atomic<uint64_t> append_microseconds{0}, seal_microseconds{0}, probe_microseconds{0};
};

class CudaJoin : public Join {
  public:
    CudaJoin(Device* device, const JoinSpec& spec, const Limits& limits);
    ~CudaJoin() override;

    Status append(const BatchView& batch) override;
    Status seal(SealReport* report) override;
    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override;
    Status mark_matched(std::span<const uint64_t> build_rows) override;
    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override;
    Status rewind() override;
    Status export_build(const std::function<Status(const BatchView&)>& consumer) override;
    JoinStats stats() const override;

  private:
    friend class CudaCursor;
    friend class UnorderedCursor;

    WorkContext work(const StreamLease& stream);
    Status acquire_stream(const WorkSize& size, StreamLease* stream);
    WorkSize size_of_probe(uint64_t rows) const;
    Status seal_build_side(const WorkContext& context);
    Status choose_layout(const WorkContext& context);
    SpanInput build_input() const;
    Status make_marks(const WorkContext& context);
    Status build_lookup(const WorkContext& context, const JoinPlan& plan);
    // The lookup structure, where it was not built at seal: for the first batch that asks for it, which also
    // shows what ranges should drive. probe: views of the batch's columns, in host memory.
    Status make_late_lookup(const WorkContext& context, const DeviceColumn* probe, uint64_t rows);
    // The partitions of the build side, where they pay and there is room.
    Status partition_build_side(const WorkContext& context);
    // The columns of one side that may be NULL in a term. views: the side's columns.
    RequiredColumns required_of(bool build, const DeviceColumn* views) const;
    // views: one side's columns; columns: the same on the device.
    RadixInput radix_input(bool build, const DeviceColumn* views, const DeviceColumn* columns,
                           uint64_t rows) const;
    Status start_cursor(const BatchView& batch, std::unique_ptr<Cursor>* cursor);
    // Whether sides are merged and results come as they are found there.
    bool merges_unordered() const;
    // What the lookup structure may have in the place of build row numbers.
    PayloadSource lookup_payload() const;
    OutputOrder result_order() const;
    ProbeWork probe_work(const DeviceColumn* probe, uint64_t rows) const;
    uint64_t row_data() const;
    // Brings what probing has marked into matched_.
    Status collect_marks(const WorkContext& context);

    Device* const device_;
    const JoinSpec spec_;
    const Limits limits_;
    MemoryAccount account_;
    JoinCounters counters_;
    std::atomic<uint64_t> peak_seal_memory_{0};
    std::atomic<Algorithm> algorithm_{Algorithm::Auto};  // once sealed

    BuildSide build_;
    // From seal on:
    KeyLayout layout_;
    JoinPlan plan_;
    std::vector<DeviceColumn> build_views_;
    DeviceArray<DeviceColumn> build_columns_;
    DeviceArray<uint16_t> required_numbers_[2];  // probe, build
    RequiredColumns required_[2];
    DeviceArray<Term> residual_;
    DeviceArray<FilterProgram> program_;
    FilterColumns filter_columns_;  // of a join with nothing but a filter program
    uint32_t radix_bits_ = 0;       // 0: the build side is not partitioned
    RadixSide radix_;
    std::mutex lookup_mutex_;
    std::atomic<bool> lookup_made_{false};
    Lookup lookup_;
    DeviceArray<uint8_t> matched_;
    DeviceArray<unsigned long long> coverage_;
    std::mutex fold_mutex_;
};

}  // namespace gpujoin
