// FusedLookup: a stage of those that are probed together (fused_probe.h), as kernels see it.
#pragma once

#include <cstdint>

#include "cuda/hash/lookup.cuh"
#include "wire/fragment_spec.h"

namespace gpujoin::cuda {

// How many rows have passed each stage.
struct PassedRows {
    uint32_t of[kMaxStages];
};

// What a stage does with a row of a piece, whose key it has looked up.
struct FusedOutcome {
    bool keeps_found;          // rows that have a partner go on
    bool keeps_lost;           // rows that have none do
    const uint32_t* key_rows;  // by row of the piece: the row of the probe columns; nullptr: the source's row
    bool is_key_held;          // the key of a row of the piece is what key_rows has
    const uint32_t* partner_rows;  // what is found, by position; nullptr: positions are
    uint32_t* partners;            // by row of the piece: what was found, or kNoRow; nullptr: nobody asks

    // Whether there is a key, and in which row of the probe columns. first: the row of the source that the
    // piece begins with.
    __device__ bool has_key(uint64_t first, uint64_t row, uint64_t* key_row) const {
        *key_row = !key_rows ? first + row : is_key_held ? row : key_rows[row];
        return !key_rows || is_key_held || *key_row != kNoRow;
    }
    // Whether the row goes on.
    __device__ bool note(uint64_t row, bool is_found, uint32_t leader) const {
        if (partners) partners[row] = !is_found ? kNoRow : partner_rows ? partner_rows[leader] : leader;
        return is_found ? keeps_found : keeps_lost;
    }
};

// The lookup of a key that is one column of integers, by its place or its 4 bytes, with all it takes: what
// most stages are, and can be read from a kernel's parameters.
struct QuickLookup {
    const std::byte* values = nullptr;  // of the probe column
    const uint8_t* valid = nullptr;     // nullptr: no NULLs
    uint64_t sign = 0;                  // what makes a value its order key
    uint64_t first = 0;                 // places begin at that order key
    uint64_t last = ~uint64_t{0};       // place; keys with greater ones are none of the build side's
    const uint32_t* direct = nullptr;   // leader by place, or
    const uint64_t* slots = nullptr;    // of keys of 4 bytes
    uint64_t capacity = 0;
    bool by_place = false;  // these are places
    uint8_t width = 0;      // 0: the lookup is none of this kind

    __device__ bool finds(uint64_t row, uint32_t* leader) const {
        if (valid && !valid[row]) return false;
        const uint64_t value = load_unsigned(values + row * width, width);
        const uint64_t place = (value ^ sign) - first;  // wraps around below the first
        if (place > last) return false;
        if (direct) {
            *leader = direct[place];
            return *leader != kNoRow;
        }
        const uint64_t held = find_slot_of(static_cast<uint32_t>(by_place ? place : value));
        *leader = leader_in(held);
        return held != kEmptySlot;
    }

  private:
    __device__ uint64_t find_slot_of(uint32_t key) const {
        uint64_t slot = multiply_high(hash_key(key), capacity);
        for (;;) {
            const uint64_t held = slots[slot];
            if (held == kEmptySlot || tag_in(held) == key) return held;
            slot = slot + 1 == capacity ? 0 : slot + 1;
        }
    }
};

// probe: the stage's probe columns.
inline QuickLookup make_quick_lookup(const LookupView& lookup, const DeviceColumn* probe) {
    const KeyLayout& layout = lookup.layout;
    if (layout.parts != 1 || (!lookup.direct && layout.bytes != sizeof(uint32_t))) return {};
    const DeviceColumn& column = probe[layout.part[0].probe_column];
    const ValueOrder order = column.spec.order;
    const bool is_integer = order == ValueOrder::Signed || order == ValueOrder::Unsigned;
    if (!is_integer || column.width == 0 || column.width > sizeof(uint64_t)) return {};
    QuickLookup quick{column.values, column.valid};
    if (order == ValueOrder::Signed) quick.sign = uint64_t{1} << (8 * column.width - 1);
    if (layout.places.parts > 0) {
        quick.first = layout.places.part[0].first;
        quick.last = layout.places.last;
    }
    quick.direct = lookup.direct;
    quick.slots = lookup.slots;
    quick.capacity = lookup.capacity;
    quick.by_place = layout.by_place;
    quick.width = static_cast<uint8_t>(column.width);
    return quick;
}

// The lookup of any key.
struct FusedLookup {
    LookupView lookup;
    RequiredColumns required;
    uint32_t first_column;  // its probe columns begin with that one, of all stages' probe columns

    // columns: the probe columns of all stages.
    __device__ bool finds(const DeviceColumn* columns, uint64_t row, uint32_t* leader) const {
        const DeviceColumn* probe = columns + first_column;
        if (!required.present(probe, row)) return false;
        switch (lookup.layout.bytes) {
            case 4:
                return find_leader<uint32_t>(lookup, probe, row, leader);
            case 8:
                return find_leader<uint64_t>(lookup, probe, row, leader);
            case 16:
                return find_leader<Key16>(lookup, probe, row, leader);
            default:
                return find_leader<HashedKey>(lookup, probe, row, leader);
        }
    }
};

}  // namespace gpujoin::cuda
