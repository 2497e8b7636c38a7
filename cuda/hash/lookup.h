// Building the lookup structure when a join is sealed, and searching it for a probe batch.
#pragma once

#include <cstdint>

#include "cuda/columns/key_span.h"
#include "cuda/hash/lookup.cuh"
#include "cuda/memory/memory.h"
#include "cuda/index/packed_columns.h"
#include "cuda/plan.h"
#include "cuda/merge/sorted_side.h"
#include "cuda/nested/tiles.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

class Lookup {
  public:
    // Builds for the rows of a concatenated build side. layout: of the equality keys. payload: a value only
    // where nothing else is asked for by row number; it rides along where rows are sorted to be merged, and
    // may be held by direct array or table, or in the place of row numbers.
    Status build(const WorkContext& context, const JoinSpec& spec, const JoinPlan& plan,
                 const KeyLayout& layout, const SpanInput& side, const PayloadSource& payload);

    LookupView view() const;
    PackedTerms packed() const { return packed_.view(); }
    TileView tiles() const { return tiles_.view(); }
    // No two build rows share a key: no probe row has more than one candidate.
    bool unique() const { return unique_; }
    bool by_key() const { return by_key_; }
    // The payload's values are held: row_at() gives one in the place of a row number, and where neither
    // groups nor sorted positions are kept candidates begin at one.
    bool holds_values() const { return holds_values_; }
    bool has_bounds() const { return bounds_.size() > 0; }
    // The build side where it is to be merged with, and the probe column to sort by for that; -1: the
    // equality columns.
    const SortedSide& merge_side() const { return merge_side_; }
    int merge_probe_column() const { return merge_probe_column_; }

  private:
    Status make_leaders(const WorkContext& context, const SpanInput& input);
    Status make_table(const WorkContext& context, uint64_t rows);
    Status fetch_values(const WorkContext& context, const uint32_t* values, uint64_t rows);
    Status make_groups(const WorkContext& context, uint64_t rows, DeviceArray<uint32_t>* begins);
    Status scatter_rows(const WorkContext& context, uint64_t rows, const uint32_t* values);
    template <typename Key>
    Status make_order(const WorkContext& context, const DeviceColumn& column, uint64_t rows,
                      RequiredColumns required, DeviceArray<Key>* order_keys, DeviceArray<Key>* fences);
    Status group_rows(const WorkContext& context, uint64_t rows);
    Status make_bounds(const WorkContext& context, const JoinSpec& spec, const JoinPlan& plan);
    const uint32_t* row_numbers() const { return merge_ ? merge_side_.row_numbers() : rows_.data(); }

    KeyLayout layout_;
    const DeviceColumn* build_ = nullptr;
    bool by_key_ = false;
    bool unique_ = false;
    bool holds_values_ = false;
    bool merge_ = false;
    bool merge_cut_after_ = false;
    int merge_probe_column_ = -1;
    uint64_t positions_ = 0;
    KeySpan span_;
    DeviceArray<uint32_t> direct_;
    DeviceArray<uint64_t> slots_;
    DeviceArray<uint32_t> leaders_;  // by build row, while building
    DeviceArray<uint32_t> counts_;   // by leader, while building
    DeviceArray<Group> groups_;
    DeviceArray<uint32_t> rows_;
    DeviceArray<uint32_t> narrow_keys_;
    DeviceArray<uint64_t> order_keys_;
    DeviceArray<uint32_t> narrow_fences_;
    DeviceArray<uint64_t> order_fences_;
    SortedSide merge_side_;
    DeviceArray<RangeBound> bounds_;
    PackedColumns packed_;
    TileKeys tiles_;
};

// The candidates of every row of a probe batch: positions [begin, begin + count), or one value
// (holds_values()).
struct Candidates {
    DeviceArray<uint32_t> begin;
    DeviceArray<uint32_t> count;
};

// probe: the batch's columns, on the device.
Status find_candidates(const WorkContext& context, const Lookup& lookup, const DeviceColumn* probe,
                       RequiredColumns required, uint64_t rows, Candidates* candidates);

}  // namespace gpujoin::cuda
