// GroupIndex: finds the groups of rows by their keys, in a table with open addressing. A slot has a tag,
// which is a part of the key's hash, and who has the key: a group, or the row that a new group begins with,
// until it is known that there is room for the new groups. So keys are compared where they lie, whatever they
// are, and threads that look for the same new key at the same time agree by one atomic operation. NULL equals
// NULL.
#pragma once

#include <cstdint>

#include "cuda/fragment/device_sink.h"
#include "cuda/fragment/group_keys.cuh"
#include "cuda/fragment/sink_values.h"

namespace gpujoin::cuda {

class GroupIndex {
  public:
    explicit GroupIndex(const DeviceSink& sink) : sink_(sink) {}

    // Looks up the live rows of a piece, whose keys are those of its inputs (numbers, on the device). stored:
    // the columns of so many groups, keys first, on the device. Finds how many rows begin a group each, which
    // are in new_rows(). Waits for the stream. What is refused changes nothing.
    Status find(const WorkContext& context, const RowPiece& piece, const uint16_t* keys, const uint32_t* live,
                const PickedView* stored, uint64_t groups, uint32_t* new_groups);
    // Makes groups of the new rows, from number `groups` on, or forgets them.
    Status keep(const WorkContext& context, const RowPiece& piece, const uint32_t* live, uint64_t groups,
                uint32_t new_groups);
    Status forget(const WorkContext& context, const RowPiece& piece, uint32_t new_groups);

    // Where so many groups can be looked up, those begun that are not there yet. If there is room for many
    // more, and memory to move them, they move closer together first, so that caches hold more of them. What
    // is refused changes nothing.
    Status find_slots(const WorkContext& context, uint64_t groups, GroupSlots* slots);
    uint64_t* slots() const { return slots_.data(); }
    const uint32_t* new_rows() const { return new_rows_.data(); }
    // By row of the piece, once they are kept; of others than live ones anything.
    const uint32_t* groups_of_rows() const { return places_.data(); }

    void clear() { needs_clearing_ = true; }
    void release() {
        places_.reset();
        new_rows_.reset();
    }

  private:
    Status make_room(const WorkContext& context, uint64_t groups);
    Status move(const WorkContext& context, uint64_t count);

    const DeviceSink& sink_;
    DeviceArray<uint64_t> slots_;
    bool needs_clearing_ = false;
    DeviceArray<uint32_t> places_;    // by row of the piece: its slot, then its group
    DeviceArray<uint32_t> new_rows_;  // and behind them how many there are
};

}  // namespace gpujoin::cuda
