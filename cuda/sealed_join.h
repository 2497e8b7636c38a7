// SealedJoin: what a join on the device has for its cursors: the build side, which grows until it is sealed,
// and from then on the lookup structure that they share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/columns/build_side.h"
#include "cuda/device.h"
#include "cuda/filter/filter_columns.h"
#include "cuda/hash/lookup.h"
#include "cuda/results/pair_source.h"
#include "cuda/plan.h"
#include "cuda/radix/radix_partition.h"
#include "cuda/work/work_size.h"
#include "engine/counters.h"
#include "engine/engine.h"

namespace gpujoin::cuda {

struct SealedJoin {
    SealedJoin(Device* device, const JoinSpec& spec, const Limits& limits);
    ~SealedJoin();
    SealedJoin(const SealedJoin&) = delete;
    SealedJoin& operator=(const SealedJoin&) = delete;

    WorkContext work(const StreamLease& stream);
    // A stream for work of that size; where it is small, one that suits the turn.
    Status acquire_stream(const WorkSize& size, StreamLease* stream);
    WorkSize size_of_probe(uint64_t rows) const;
    SpanInput build_input() const;
    // Builds the lookup structure, at seal.
    Status build_lookup(const WorkContext& context, const JoinPlan& plan);
    // The lookup structure, where it was not built at seal: for the first batch that asks for it, which also
    // shows what ranges should drive. probe: views of the batch's columns, in host memory.
    Status make_late_lookup(const WorkContext& context, const DeviceColumn* probe, uint64_t rows);
    // The columns of one side that may be NULL in a term. views: the side's columns.
    RequiredColumns required_of(bool build, const DeviceColumn* views) const;
    // views: one side's columns; columns: the same on the device.
    RadixInput radix_input(bool build, const DeviceColumn* views, const DeviceColumn* columns,
                           uint64_t rows) const;
    // Whether sides are merged and results come as they are found there.
    bool merges_unordered() const;
    // Whether the candidates of a probe row are those of its key, all of which match.
    bool is_looked_up_by_key() const;
    // What the lookup structure may have in the place of build row numbers.
    PayloadSource lookup_payload() const;
    ResultOrder result_order() const;
    ProbeWork probe_work(const DeviceColumn* probe, uint64_t rows) const;
    uint64_t row_data() const;
    // Brings what probing has marked into matched.
    Status collect_marks(const WorkContext& context);

    Device* const device;
    const JoinSpec spec;
    const Limits limits;
    MemoryAccount account;
    JoinCounters counters;

    BuildSide build;
    // From seal on:
    KeyLayout layout;
    JoinPlan plan;
    std::vector<DeviceColumn> build_views;
    DeviceArray<DeviceColumn> build_columns;
    DeviceArray<uint16_t> required_numbers[2];  // probe, build
    RequiredColumns required[2];
    DeviceArray<Term> residual;
    DeviceArray<FilterProgram> program;
    FilterColumns filter_columns;  // of a join with nothing but a filter program
    uint32_t radix_bits = 0;       // 0: the build side is not partitioned
    RadixSide radix;
    std::mutex lookup_mutex;
    std::atomic<bool> lookup_made{false};
    Lookup lookup;
    DeviceArray<uint8_t> matched;
    DeviceArray<unsigned long long> coverage;
    std::mutex fold_mutex;
};

// The nullable columns of one side that occur in a term: a row with a NULL there matches nothing.
std::vector<uint16_t> required_columns(const JoinSpec& spec, bool build);

}  // namespace gpujoin::cuda
