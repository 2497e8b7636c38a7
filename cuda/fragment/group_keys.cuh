// The keys of rows and groups as the slots of a group index have them (group_index.h): how they are hashed,
// compared where they lie, and found.
#pragma once

#include <cstdint>

#include "cuda/fragment/picked_view.cuh"
#include "engine/hash.h"

namespace gpujoin::cuda {

// A slot that is taken: the tag, and below it the number of a group and one, or of a row and kNewRow. 0: it
// is free.
inline constexpr uint32_t kNewRow = 1u << 31;

GPUJOIN_HD inline uint64_t slot_of(uint32_t tag, uint32_t owner) {
    return uint64_t{tag} << 32 | owner;
}
GPUJOIN_HD constexpr uint32_t tag_of(uint64_t slot) {
    return static_cast<uint32_t>(slot >> 32);
}
GPUJOIN_HD inline uint32_t owner_of(uint64_t slot) {
    return static_cast<uint32_t>(slot);
}

struct GroupKeys {
    static constexpr uint64_t kHashOfNull = 0x5bd1e9955bd1e995u;
    static constexpr uint32_t kMostBytesOfTag = 4;

    __device__ static uint64_t hash_of_word(uint64_t bits, uint32_t width) {
        return width <= kMostBytesOfTag ? uint64_t{mix32(static_cast<uint32_t>(bits))} << 32 : mix(bits);
    }

    const PickedView* inputs;  // of rows
    const PickedView* stored;  // of groups, keys first
    const uint16_t* keys;      // which of the inputs
    uint32_t count;

    // Of several rows at once, so that a column is looked at once. A single key of up to 4 bytes has a tag of
    // its own, but for NULL.
    template <uint32_t kRows>
    __device__ void find_tags(const uint64_t (&numbers)[kRows], uint32_t (&tags)[kRows]) const {
        uint64_t hashes[kRows] = {};
        for (uint32_t i = 0; i < count; i++) {
            const PickedView column = inputs[keys[i]];
            GPUJOIN_UNROLL
            for (uint32_t j = 0; j < kRows; j++) {
                const uint64_t row = column.row(numbers[j]);
                const uint64_t hash = column.is_null(row) ? kHashOfNull : hash_of(column, row);
                hashes[j] = i == 0 ? hash : combine_hashes(hashes[j], hash);
            }
        }
        GPUJOIN_UNROLL
        for (uint32_t j = 0; j < kRows; j++) tags[j] = tag_of(hashes[j]);
    }

    __device__ bool is_owner(uint64_t number, uint32_t owner) const {
        for (uint32_t i = 0; i < count; i++) {
            const PickedView& column = inputs[keys[i]];
            const bool is_same =
                owner & kNewRow ? same_value(column, column.row(number), column, column.row(owner & ~kNewRow))
                                : same_value(column, column.row(number), stored[i], owner - 1);
            if (!is_same) return false;
        }
        return true;
    }

  private:
    __device__ static uint64_t hash_of(const PickedView& column, uint64_t row) {
        const ValueRef value = column.value(row);
        if (column.width == 0) return hash_bytes(value.data, value.bytes);
        return column.width == 16 ? hash_key(load_key16(value.data))
                                  : hash_of_word(load_unsigned(value.data, column.width), column.width);
    }

    __device__ static bool same_value(const PickedView& a, uint64_t a_row, const PickedView& b,
                                      uint64_t b_row) {
        const bool is_null = a.is_null(a_row);
        if (is_null != b.is_null(b_row)) return false;
        if (is_null) return true;
        const ValueRef x = a.value(a_row), y = b.value(b_row);
        if (a.width == 0 || a.width == 16) return equal_values(x, y);
        return load_unsigned(x.data, a.width) == load_unsigned(y.data, a.width);
    }
};

// The slots of an index while nobody adds to it: as many as are a power of two.
struct GroupSlots {
    static constexpr uint32_t kNoGroup = ~0u;

    const uint64_t* slots;
    uint64_t mask;

    __device__ uint64_t first(uint32_t tag) const { return __ldg(slots + (tag & mask)); }

    // The group with this tag that is_it(group) says is the right one, or kNoGroup. slot: the first one.
    template <typename IsIt>
    __device__ uint32_t find(uint32_t tag, uint64_t slot, const IsIt& is_it) const {
        for (uint64_t place = tag & mask; slot != 0; slot = __ldg(slots + place)) {
            if (tag_of(slot) == tag && is_it(owner_of(slot) - 1)) return owner_of(slot) - 1;
            place = (place + 1) & mask;
        }
        return kNoGroup;
    }
};

// A single key of up to 8 bytes, which is compared as a number: what there is to know of it goes with the
// kernel's parameters.
struct SingleKey {
    PickedView input;
    PickedView stored;

    template <uint32_t kRows>
    __device__ void load(const uint64_t (&numbers)[kRows], uint64_t (&bits)[kRows], uint32_t* null) const {
        uint64_t rows[kRows];
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) rows[i] = input.row(numbers[i]);
        load_picked(input, rows, bits);
        *null = nulls_of(input, rows);
    }
    template <uint32_t kRows>
    __device__ void find_tags(const uint64_t (&bits)[kRows], uint32_t null, uint32_t (&tags)[kRows]) const {
        if (has_own_tags()) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                tags[i] = tag_of(GroupKeys::hash_of_word(bits[i], GroupKeys::kMostBytesOfTag));
        } else {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                tags[i] = tag_of(GroupKeys::hash_of_word(bits[i], sizeof(uint64_t)));
        }
        if (null == 0) return;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++)
            if (null >> i & 1) tags[i] = kTagOfNull;
    }
    // Whether a slot is that of the group with this tag, and no other group can have the tag.
    __device__ bool tells_owner(uint64_t slot, uint32_t tag) const {
        return tag_of(slot) == tag && owner_of(slot) != 0 && is_own_tag(tag);
    }
    // Whether a group has the key whose tag that is.
    __device__ bool is_of(uint32_t group, uint32_t tag, uint64_t bits, bool is_null) const {
        if (is_own_tag(tag)) return true;
        if (stored.is_null(group) != is_null) return false;
        return is_null || load_unsigned(stored.values + uint64_t{group} * stored.width, stored.width) == bits;
    }

    // Whether no other key can have this tag.
    __device__ bool is_own_tag(uint32_t tag) const { return has_own_tags() && tag != kTagOfNull; }

  private:
    static constexpr uint32_t kTagOfNull = tag_of(GroupKeys::kHashOfNull);

    __device__ bool has_own_tags() const { return input.width <= GroupKeys::kMostBytesOfTag; }
};

// The keys of a piece's rows, and of groups.
struct RowKeys {
    GroupKeys all;
    SingleKey single;  // if there is but one, of these widths
    bool is_single;
};

}  // namespace gpujoin::cuda
