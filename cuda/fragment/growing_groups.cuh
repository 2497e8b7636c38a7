// GrowingGroups: finds the groups of several rows at once, and begins those that there are not, while other
// threads do the same (one_pass.h). A thread claims a key that is new by one atomic operation on its slot.
// The lanes of a warp then take numbers for all that they have claimed, write the columns of those groups,
// and tell in the slots who has the key. Rows whose key somebody else has claimed look again. No warp waits
// for another before it has told of all that it has claimed itself, so that each comes to an end.
#pragma once

#include <cstdint>

#include "cuda/fragment/group_keys.cuh"
#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

// A column of groups that has some row's value, of up to 8 bytes.
struct GroupColumn {
    PickedView from;      // of rows
    std::byte* values;    // of groups
    uint8_t* null_flags;  // nullptr: never NULL

    // What others have written meanwhile is read past the first-level cache, which does not hear of it.
    __device__ bool has(uint64_t group, uint64_t row) const {
        const bool is_null = null_flags && __ldcg(null_flags + group);
        if (is_null != from.is_null(row)) return false;
        return is_null || load_now(values + group * from.width) == value(row);
    }
    __device__ bool is_same(uint64_t a, uint64_t b) const {
        const bool is_null = from.is_null(a);
        if (is_null != from.is_null(b)) return false;
        return is_null || value(a) == value(b);
    }
    __device__ void write(uint64_t group, uint64_t row) const {
        const bool is_null = from.is_null(row);
        if (null_flags) null_flags[group] = is_null;
        const uint64_t bits = is_null ? 0 : value(row);
        std::byte* to = values + group * from.width;
        switch (from.width) {
            case 1:
                *reinterpret_cast<uint8_t*>(to) = static_cast<uint8_t>(bits);
                break;
            case 2:
                *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(bits);
                break;
            case 4:
                *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(bits);
                break;
            default:
                *reinterpret_cast<uint64_t*>(to) = bits;
        }
    }

  private:
    __device__ uint64_t value(uint64_t row) const { return load_unsigned(from.value(row).data, from.width); }
    __device__ uint64_t load_now(const std::byte* value) const {
        switch (from.width) {
            case 1:
                return __ldcg(reinterpret_cast<const unsigned char*>(value));
            case 2:
                return __ldcg(reinterpret_cast<const unsigned short*>(value));
            case 4:
                return __ldcg(reinterpret_cast<const unsigned int*>(value));
            default:
                return __ldcg(reinterpret_cast<const unsigned long long*>(value));
        }
    }
};

// Pointers are device memory, not owned.
struct GrowingGroups {
    static constexpr uint32_t kMostColumns = 12;

    RowKeys keys;
    unsigned long long* slots;  // more than there may be groups: as many as are a power of two
    uint64_t mask;
    uint32_t count;                     // groups that were there before
    uint32_t* begun;                    // those that were begun since
    uint32_t* promised;                 // and those that threads hold room for
    uint32_t room;                      // for these
    bool has_room;                      // for as many groups as there are rows, so that nobody has to ask
    GroupColumn columns[kMostColumns];  // keys first
    uint32_t column_count;

    // Of the rows that are wanted, a bit each; called by all lanes of a warp together. Returns which have
    // got a group: all, if there is room.
    template <uint32_t kRows>
    __device__ uint32_t find(const uint64_t (&numbers)[kRows], uint32_t wanted,
                             uint32_t (&groups)[kRows]) const {
        Search<kRows> search;
        find_tags(numbers, search.tags);
        uint64_t first[kRows];
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            search.places[i] = static_cast<uint32_t>(search.tags[i] & mask);
            first[i] = __ldcg(slots + search.places[i]);
            groups[i] = 0;
        }
        search.open = wanted;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++)
            if (wanted >> i & 1) look(numbers[i], i, first[i], has_room, &search, groups[i]);
        begin(numbers, &search, groups);
        while (__any_sync(kAllLanes, search.open != 0)) look_again(numbers, &search, groups);
        return search.found;
    }

  private:
    template <uint32_t kRows>
    struct Search {
        uint32_t tags[kRows];
        uint32_t places[kRows];  // the slot that is looked at
        uint32_t open = 0;       // rows that have no group yet, and may get one
        uint32_t found = 0;
        uint32_t claimed = 0;
    };

    template <uint32_t kRows>
    __device__ void find_tags(const uint64_t (&numbers)[kRows], uint32_t (&tags)[kRows]) const {
        if (!keys.is_single) return keys.all.find_tags(numbers, tags);
        uint64_t bits[kRows];
        uint32_t null = 0;
        keys.single.load(numbers, bits, &null);
        keys.single.find_tags(bits, null, tags);
    }

    // A row's way from the slot that was read on: to its group; or to a slot that another thread has claimed
    // for the key, or a free one, which it claims if it may.
    template <uint32_t kRows>
    __device__ void look(uint64_t number, uint32_t i, uint64_t slot, bool may_claim, Search<kRows>* search,
                         uint32_t& group) const {
        const uint32_t tag = search->tags[i];
        uint32_t place = search->places[i];
        for (;; slot = __ldcg(slots + place)) {
            if (slot == 0 && may_claim) {
                const uint64_t own = slot_of(tag, static_cast<uint32_t>(number) | kNewRow);
                slot = atomicCAS(slots + place, 0ull, static_cast<unsigned long long>(own));
                if (slot == 0) {
                    search->claimed |= 1u << i;
                    break;
                }
            }
            if (slot == 0) break;
            const uint32_t owner = owner_of(slot);
            if (tag_of(slot) == tag && is_owner(number, tag, owner)) {
                if (owner & kNewRow) break;
                group = owner - 1;
                search->found |= 1u << i;
                search->open &= ~(1u << i);
                break;
            }
            place = static_cast<uint32_t>((place + 1) & mask);
        }
        search->places[i] = place;
    }

    __device__ bool is_owner(uint64_t number, uint32_t tag, uint32_t owner) const {
        if (keys.is_single && keys.single.is_own_tag(tag)) return true;
        const bool is_row = owner & kNewRow;
        // What the slot tells of was written before it.
        if (!is_row && owner > count) __threadfence();
        for (uint32_t i = 0; i < keys.all.count; i++) {
            const PickedView& from = columns[i].from;
            const bool is_same = is_row ? columns[i].is_same(from.row(number), from.row(owner & ~kNewRow))
                                        : columns[i].has(owner - 1, from.row(number));
            if (!is_same) return false;
        }
        return true;
    }

    // For all rows of the warp that are open; and begins groups for those that are still new, if it may.
    template <uint32_t kRows>
    __device__ void look_again(const uint64_t (&numbers)[kRows], Search<kRows>* search,
                               uint32_t (&groups)[kRows]) const {
        const uint32_t wanted = has_room ? 0 : sum(__popc(search->open));
        const bool may_claim = has_room || ask_for(wanted);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++)
            if (search->open >> i & 1)
                look(numbers[i], i, __ldcg(slots + search->places[i]), may_claim, search, groups[i]);
        const uint32_t begun_here = begin(numbers, search, groups);
        if (!has_room && may_claim && (threadIdx.x & 31) == 0) atomicSub(promised, wanted - begun_here);
        if (!may_claim) search->open = 0;
    }

    // All lanes get the sum.
    __device__ static uint32_t sum(uint32_t own) {
        return __shfl_sync(kAllLanes, inclusive_warp_sum(own), 31);
    }

    // Whether so many groups may be begun.
    __device__ bool ask_for(uint32_t groups) const {
        uint32_t before = 0;
        if ((threadIdx.x & 31) == 0) {
            before = atomicAdd(promised, groups);
            if (before + groups > room) atomicSub(promised, groups);
        }
        return __shfl_sync(kAllLanes, before, 0) + groups <= room;
    }

    // Returns how many the warp has claimed, which are groups then.
    template <uint32_t kRows>
    __device__ uint32_t begin(const uint64_t (&numbers)[kRows], Search<kRows>* search,
                              uint32_t (&groups)[kRows]) const {
        if (!__any_sync(kAllLanes, search->claimed != 0)) return 0;
        const uint32_t own = __popc(search->claimed), behind = inclusive_warp_sum(own);
        const uint32_t all = __shfl_sync(kAllLanes, behind, 31);
        uint32_t next = 0;
        if ((threadIdx.x & 31) == 0) next = atomicAdd(begun, all);
        next = count + __shfl_sync(kAllLanes, next, 0) + behind - own;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            if (!(search->claimed >> i & 1)) continue;
            groups[i] = next++;
            for (uint32_t j = 0; j < column_count; j++)
                columns[j].write(groups[i], columns[j].from.row(numbers[i]));
        }
        __threadfence();
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++)
            if (search->claimed >> i & 1)
                __stcg(slots + search->places[i],
                       static_cast<unsigned long long>(slot_of(search->tags[i], groups[i] + 1)));
        search->found |= search->claimed;
        search->open &= ~search->claimed;
        search->claimed = 0;
        return all;
    }
};

}  // namespace gpujoin::cuda
