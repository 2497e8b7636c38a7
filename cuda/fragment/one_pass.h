// OnePass: adds rows to groups that a table has already. Values, the search for the group and what is added
// go in one kernel, so that nothing is written by row, and few groups are added up where threads, or a block,
// have them to themselves. Rows of other groups, and rows that escape, are left for the table (group_table.h)
// to do one step after the other.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/fragment/device_sink.h"
#include "cuda/fragment/group_keys.cuh"
#include "cuda/fragment/sink_values.h"
#include "cuda/fragment/total_view.cuh"

namespace gpujoin::cuda {

// Pointers are device memory, not owned.
struct KnownGroups {
    GroupKeys keys;        // of the piece's rows
    SingleKey single_key;  // and if it is one of those,
    bool is_single;
    GroupSlots slots;
    uint32_t groups;  // at least one
    uint32_t total_count;
};

// The aggregates that are added to: the same twice.
struct KnownTotals {
    const TotalView* on_device;
    const TotalView* on_host;
};

// Whether sinks of this kind are added to in one pass: there are no sums of floats, which need to be known
// beforehand, and not too many programs.
bool goes_in_one_pass(const DeviceSink& sink);

// Adds the rows that count. inputs: as in the piece, in host memory. left: a bit for each row of the piece,
// in words; set: it is left. left_count: how many are. Both on the device, and 0 before.
Status add_in_one_pass(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
                       std::span<const PickedView> inputs, const KnownGroups& known,
                       const KnownTotals& totals, uint32_t* left, uint32_t* left_count);

}  // namespace gpujoin::cuda
