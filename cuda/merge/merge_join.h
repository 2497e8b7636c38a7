// Joining two sorted sides: every probe entry's candidates lie next to each other, so that the pairs come out
// in the order of the keys, and both sides' payloads are read nearly as they lie.
//
// Slots, the places of pairs, are counted by tile of entries. The work is a list of items, each a piece of
// one tile's slots: nearly every tile is one item, one with very many pairs is several. Any range of slots
// can be written at any time, so that pairs are given out in as many portions as there is room for.
#pragma once

#include <cstdint>
#include <utility>

#include "cuda/merge/merge_search.h"
#include "cuda/results/payload_matcher.h"

namespace gpujoin::cuda {

// The tiles of a join, and the first slot and the first item of each; as kernels see it.
struct TileList {
    const TileBound* bounds;
    const uint64_t* slot_starts;
    const uint64_t* item_starts;
    uint64_t tiles;
};

struct ItemRange {
    uint64_t begin;
    uint64_t end;
};

// Joins a build side, not owned, with a probe side. A pair without a build row has kNoRow for its payload.
class MergeMatcher : public PayloadMatcher {
  public:
    MergeMatcher(const SortedSide* build, SortedSide probe, SlotRule rule)
        : build_(build), probe_(std::move(probe)), rule_(rule) {}

    // Finds the candidates and counts the pairs. Waits for the stream.
    Status prepare(const WorkContext& context, const ProbeWork& work);
    uint64_t pairs() const { return slots_; }

    const PayloadSource& build_payload() const override { return build_->payload(); }
    const PayloadSource& probe_payload() const override { return probe_.payload(); }
    Status run(const WorkContext& context, const PayloadOutput& output, uint64_t* rows, bool* done) override;

  private:
    TileList tile_list() const;
    Status find_items(const WorkContext& context, uint64_t first, uint64_t last, ItemRange* items) const;
    Status write(const WorkContext& context, const PayloadOutput& output, uint64_t first,
                 uint64_t last) const;

    const SortedSide* const build_;
    SortedSide probe_;
    const SlotRule rule_;
    SortedCandidates candidates_;        // slots: summed, so that each tile's first slot is there
    DeviceArray<uint64_t> item_starts_;  // by tile, and the end
    uint64_t slots_ = 0;
    uint64_t items_ = 0;
    uint64_t next_ = 0;  // slot
};

}  // namespace gpujoin::cuda
