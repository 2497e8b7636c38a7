// Hashing of keys, and the search of their slots.
#include "cuda/fragment/group_index.h"

#include <algorithm>
#include <bit>

#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/work/warp_count.cuh"
#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kFewestSlots = 256, kFewSlots = 8192;

// A warp has 32 rows. Those with the same key are looked up by one of them, so that not all rows of few
// groups ask for the same few slots.
struct FindGroups {
    GroupKeys keys;
    RowPiece piece;
    const uint32_t* live;
    unsigned long long* slots;
    uint64_t mask;
    uint32_t* places;
    uint32_t* new_rows;
    uint32_t* new_count;

    __device__ void operator()(const Warp&, uint64_t word) const {
        const uint32_t lanes = live[word];
        if (lanes == 0) return;
        const uint32_t lane = threadIdx.x & 31;
        const bool is_live = lanes >> lane & 1;
        const uint64_t i = word * Warp::kThreads + lane;
        const uint64_t number = piece.first + i;
        uint32_t tag = 0, leader = lane, place = 0;
        if (is_live) {
            tag = find_tag(number);
            leader = __ffs(static_cast<int>(__match_any_sync(lanes, tag))) - 1;
            if (leader == lane) place = find(number, tag);
        }
        const uint32_t found = __shfl_sync(kAllLanes, place, static_cast<int>(leader));
        if (!is_live) return;
        if (leader != lane) {
            const uint64_t other = number - lane + leader;
            place = keys.is_owner(number, static_cast<uint32_t>(other) | kNewRow) ? found : find(number, tag);
        }
        places[i] = place;
    }

    __device__ uint32_t find_tag(uint64_t number) const {
        uint32_t tags[1];
        keys.find_tags<1>({number}, tags);
        return tags[0];
    }

    // The slot of a row's key.
    __device__ uint32_t find(uint64_t number, uint32_t tag) const {
        const auto own = slot_of(tag, static_cast<uint32_t>(number) | kNewRow);
        for (uint64_t place = tag & mask;; place = (place + 1) & mask) {
            // Past the first-level cache, which does not hear of what others write.
            uint64_t slot = __ldcg(&slots[place]);
            if (slot == 0) {
                slot = atomicCAS(&slots[place], 0ull, static_cast<unsigned long long>(own));
                if (slot == 0) {
                    new_rows[count_together(new_count, 0)] = static_cast<uint32_t>(number);
                    return static_cast<uint32_t>(place);
                }
            }
            if (tag_of(slot) == tag && keys.is_owner(number, owner_of(slot)))
                return static_cast<uint32_t>(place);
        }
    }
};

// So many slots that three quarters are taken at most; and an eighth, while they stay few, so that nearly all
// groups are found where they are looked for first.
uint64_t slots_for(uint64_t groups) {
    return std::max({std::bit_ceil(groups + groups / 3 + 1), std::min(std::bit_ceil(8 * groups), kFewSlots),
                     kFewestSlots});
}

Status move_slots(const WorkContext& context, const uint64_t* from, uint64_t count, uint64_t* slots,
                  uint64_t mask) {
    auto* to = reinterpret_cast<unsigned long long*>(slots);
    return for_each(context.handle(), count, [=] __device__(uint64_t i) {
        const uint64_t slot = from[i];
        if (slot == 0) return;
        uint64_t place = tag_of(slot) & mask;
        while (atomicCAS(&to[place], 0ull, static_cast<unsigned long long>(slot)) != 0)
            place = (place + 1) & mask;
    });
}

Status number_groups(const WorkContext& context, const uint32_t* new_rows, const uint32_t* places,
                     uint64_t first, uint64_t groups, uint32_t count, uint64_t* slots) {
    return for_each(context.handle(), count, [=] __device__(uint64_t i) {
        uint64_t& slot = slots[places[new_rows[i] - first]];
        slot = slot_of(tag_of(slot), static_cast<uint32_t>(groups + i + 1));
    });
}

Status read_groups(const WorkContext& context, const uint64_t* slots, const uint32_t* live, uint64_t rows,
                   uint32_t* places) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t i) {
        if (live[i / 32] >> (i % 32) & 1) places[i] = owner_of(slots[places[i]]) - 1;
    });
}

Status empty_slots(const WorkContext& context, const uint32_t* new_rows, const uint32_t* places,
                   uint64_t first, uint32_t count, uint64_t* slots) {
    return for_each(context.handle(), count,
                    [=] __device__(uint64_t i) { slots[places[new_rows[i] - first]] = 0; });
}

}  // namespace

Status GroupIndex::make_room(const WorkContext& context, uint64_t groups) {
    if (needs_clearing_)
        GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), slots_.data(), 0, slots_.size()));
    needs_clearing_ = false;
    const uint64_t count = slots_for(groups);
    return count <= slots_.size() ? Status{} : move(context, count);
}

Status GroupIndex::move(const WorkContext& context, uint64_t count) {
    DeviceArray<uint64_t> slots;
    GPUJOIN_RETURN_IF_FAILED(slots.allocate(context.account, count, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), slots.data(), 0, count));
    GPUJOIN_RETURN_IF_FAILED(move_slots(context, slots_.data(), slots_.size(), slots.data(), count - 1));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    slots_ = std::move(slots);
    return {};
}

Status GroupIndex::find_slots(const WorkContext& context, uint64_t groups, GroupSlots* slots) {
    constexpr uint64_t kTooMany = 4;
    GPUJOIN_RETURN_IF_FAILED(make_room(context, groups));
    const uint64_t count = slots_for(groups);
    if (slots_.size() >= kTooMany * count) {
        const Status status = move(context, count);
        if (status.fault != Fault::DeviceMemory) GPUJOIN_RETURN_IF_FAILED(status);
    }
    *slots = {slots_.data(), slots_.size() - 1};
    return {};
}

Status GroupIndex::find(const WorkContext& context, const RowPiece& piece, const uint16_t* keys,
                        const uint32_t* live, const PickedView* stored, uint64_t groups,
                        uint32_t* new_groups) {
    const bool has_keys = !sink_.plan().keys.empty();
    GPUJOIN_RETURN_IF_FAILED(make_room(context, has_keys ? groups + piece.most_wanted() : 1));
    GPUJOIN_RETURN_IF_FAILED(places_.reserve(context.account, piece.rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(new_rows_.reserve(context.account, piece.rows + 1, context.handle()));
    uint32_t* count = new_rows_.data() + piece.rows;
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), count, 0, 1));
    const GroupKeys view{piece.inputs, stored, keys, static_cast<uint32_t>(sink_.plan().keys.size())};
    auto* slots = reinterpret_cast<unsigned long long*>(slots_.data());
    GPUJOIN_RETURN_IF_FAILED(for_each_warp(
        context.handle(), piece.words(),
        FindGroups{view, piece, live, slots, slots_.size() - 1, places_.data(), new_rows_.data(), count}));
    return read_back(context, count, new_groups);
}

Status GroupIndex::keep(const WorkContext& context, const RowPiece& piece, const uint32_t* live,
                        uint64_t groups, uint32_t new_groups) {
    GPUJOIN_RETURN_IF_FAILED(number_groups(context, new_rows_.data(), places_.data(), piece.first, groups,
                                           new_groups, slots_.data()));
    return read_groups(context, slots_.data(), live, piece.rows, places_.data());
}

// No group was looked up past the slots of new rows when it got its own, so that these may be emptied.
Status GroupIndex::forget(const WorkContext& context, const RowPiece& piece, uint32_t new_groups) {
    return empty_slots(context, new_rows_.data(), places_.data(), piece.first, new_groups, slots_.data());
}

}  // namespace gpujoin::cuda
