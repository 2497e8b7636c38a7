// OnePass: adds rows to groups that a table has already, or that are begun on the way. Values, the search for
// the group and what is added go in one kernel, so that nothing is written by row. Where groups are known and
// few they are added up where threads, or a block, have them to themselves. Rows of other groups, rows that
// there is no room for, and rows that escape are left for the table (group_table.h) to do one step after the
// other.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/fragment/device_sink.h"
#include "cuda/fragment/growing_groups.cuh"
#include "cuda/fragment/known_groups.cuh"
#include "cuda/fragment/sink_values.h"
#include "cuda/fragment/total_view.cuh"

namespace gpujoin::cuda {

// The aggregates that are added to: the same twice.
struct KnownTotals {
    const TotalView* on_device;
    const TotalView* on_host;
    uint32_t count;
};

// Whether sinks of this kind are added to in one pass: there are no sums of floats, which need to be known
// beforehand, and not too many programs.
bool goes_in_one_pass(const DeviceSink& sink);

// Whether so many totals of so many groups have room where threads or blocks add them up.
Status have_own_totals(uint64_t groups, uint64_t totals, bool* do_so);

// Adds the rows that count. inputs: as in the piece, in host memory. left: a bit for each row of the piece,
// in words; set: it is left. left_count: how many are. Both on the device, and 0 before.
Status add_in_one_pass(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
                       std::span<const PickedView> inputs, const KnownGroups& groups,
                       const KnownTotals& totals, uint32_t* left, uint32_t* left_count);
// The same, and begins groups that are new. Totals of as many as there is room for have been begun.
Status add_in_one_pass(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
                       std::span<const PickedView> inputs, const GrowingGroups& groups,
                       const KnownTotals& totals, uint32_t* left, uint32_t* left_count);

}  // namespace gpujoin::cuda
