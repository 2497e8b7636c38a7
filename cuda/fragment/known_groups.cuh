// KnownGroups: finds the groups of several rows at once among those that a table has (one_pass.h).
#pragma once

#include <cstdint>

#include "cuda/fragment/group_keys.cuh"

namespace gpujoin::cuda {

// Pointers are device memory, not owned.
struct KnownGroups {
    RowKeys keys;
    GroupSlots slots;
    uint32_t count;  // at least one

    // Of the rows that are wanted, a bit each. Returns which have a group that there is.
    template <uint32_t kRows>
    __device__ uint32_t find(const uint64_t (&numbers)[kRows], uint32_t wanted,
                             uint32_t (&groups)[kRows]) const {
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) groups[i] = 0;
        if (keys.all.count == 0) return wanted;
        return keys.is_single ? find_by_single_key(numbers, wanted, groups)
                              : find_by_keys(numbers, wanted, groups);
    }

  private:
    template <uint32_t kRows>
    __device__ uint32_t find_by_single_key(const uint64_t (&numbers)[kRows], uint32_t wanted,
                                           uint32_t (&groups)[kRows]) const {
        uint64_t bits[kRows], first[kRows];
        uint32_t null = 0, tags[kRows], found = 0;
        keys.single.load(numbers, bits, &null);
        keys.single.find_tags(bits, null, tags);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) first[i] = slots.first(tags[i]);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            const bool is_found = keys.single.tells_owner(first[i], tags[i]);
            if (is_found) groups[i] = owner_of(first[i]) - 1;
            found |= static_cast<uint32_t>(is_found) << i;
        }
        if ((wanted & ~found) == 0) return wanted;
        return find_others(wanted, tags, first, found, groups, [&](uint32_t i, uint32_t group) {
            return keys.single.is_of(group, tags[i], bits[i], null >> i & 1);
        });
    }

    template <uint32_t kRows>
    __device__ uint32_t find_by_keys(const uint64_t (&numbers)[kRows], uint32_t wanted,
                                     uint32_t (&groups)[kRows]) const {
        uint64_t first[kRows];
        uint32_t tags[kRows];
        keys.all.find_tags(numbers, tags);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) first[i] = slots.first(tags[i]);
        return find_others(wanted, tags, first, 0, groups, [&](uint32_t i, uint32_t group) {
            return keys.all.is_owner(numbers[i], group + 1);
        });
    }

    // Of the rows whose groups are not found yet, from their first slots on. Returns which are found.
    template <uint32_t kRows, typename IsOf>
    __device__ uint32_t find_others(uint32_t wanted, const uint32_t (&tags)[kRows],
                                    const uint64_t (&first)[kRows], uint32_t found, uint32_t (&groups)[kRows],
                                    const IsOf& is_of) const {
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            if (!((wanted & ~found) >> i & 1)) continue;
            const uint32_t group =
                slots.find(tags[i], first[i], [&](uint32_t other) { return is_of(i, other); });
            if (group == GroupSlots::kNoGroup) continue;
            groups[i] = group;
            found |= 1u << i;
        }
        return wanted & found;
    }
};

}  // namespace gpujoin::cuda
