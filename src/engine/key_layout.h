// Key layout: how the equality columns of a join become one key. When all are fixed and their widths add up
// to at most 16 bytes they are packed, one behind the other and zero-padded, into a 4, 8 or 16-byte key, and
// equal keys mean equal columns. Where the values of the build side lie close together, a key of 4 or 8 bytes
// may be its place among their combinations instead (key_span.h), if none has more than 8 bytes. Otherwise a
// row's key is a 64-bit hash (hash.h), and rows with equal hashes must still be compared column by column.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/host_device.h"
#include "engine/key_span.h"
#include "wire/join_spec.h"

namespace gpujoin {

struct Key16 {
    uint64_t low = 0;
    uint64_t high = 0;
    GPUJOIN_HD friend bool operator==(const Key16& a, const Key16& b) {
        return a.low == b.low && a.high == b.high;
    }
};

// One equality column of the key.
struct KeyPart {
    uint16_t probe_column;
    uint16_t build_column;
    uint8_t width;   // bytes; 0 for Bytes
    uint8_t offset;  // of the value inside the packed key, in bytes
};

struct KeyLayout {
    uint32_t parts = 0;
    // 4, 8 or 16: packed into uint32_t, uint64_t, Key16, or 4 or 8 for places; 0: hashed (or no parts at all)
    uint32_t bytes = 0;
    KeyPart part[kMaxTerms];
    KeyPlaces places;       // of the build side's keys, where they were looked for
    bool by_place = false;  // a key is its place
};

inline KeyLayout make_key_layout(const JoinSpec& spec) {
    KeyLayout layout;
    layout.parts = spec.equalities;
    uint32_t bytes = 0;
    bool fixed = spec.equalities > 0;
    for (uint32_t i = 0; i < layout.parts; i++) {
        const Term& term = spec.equality[i];
        uint32_t width = fixed_width(spec.build[term.build_column].type);
        layout.part[i] = {term.probe_column, term.build_column, static_cast<uint8_t>(width),
                          static_cast<uint8_t>(bytes)};
        fixed = fixed && width > 0 && bytes + width <= 16;
        bytes = fixed ? bytes + width : 0;
    }
    if (fixed) layout.bytes = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
    return layout;
}

// Loads a value of 1, 2, 4 or 8 bytes, zero-extended. Values lie at multiples of their width.
GPUJOIN_HD inline uint64_t load_unsigned(const std::byte* value, uint32_t width) {
    switch (width) {
        case 1:
            return *reinterpret_cast<const uint8_t*>(value);
        case 2:
            return *reinterpret_cast<const uint16_t*>(value);
        case 4:
            return *reinterpret_cast<const uint32_t*>(value);
        default:
            return *reinterpret_cast<const uint64_t*>(value);
    }
}

GPUJOIN_HD inline Key16 load_key16(const std::byte* value) {
    return {load_unsigned(value, 8), load_unsigned(value + 8, 8)};
}

// Puts one part's value into a packed key.
GPUJOIN_HD inline void insert_part(uint32_t* key, const KeyPart& part, const std::byte* value) {
    *key |= static_cast<uint32_t>(load_unsigned(value, part.width)) << (8 * part.offset);
}
GPUJOIN_HD inline void insert_part(uint64_t* key, const KeyPart& part, const std::byte* value) {
    *key |= load_unsigned(value, part.width) << (8 * part.offset);
}
GPUJOIN_HD inline void insert_part(Key16* key, const KeyPart& part, const std::byte* value) {
    if (part.width == 16) {
        *key = load_key16(value);
        return;
    }
    uint64_t bits = load_unsigned(value, part.width);
    uint32_t shift = 8 * (part.offset & 7);
    if (part.offset >= 8) {
        key->high |= bits << shift;
    } else {
        key->low |= bits << shift;
        if (shift + 8 * part.width > 64) key->high |= bits >> (64 - shift);
    }
}

// The packed key of a row: value(i) gives the address of part i's value in that row.
template <typename Key, typename Value>
GPUJOIN_HD Key pack_key(const KeyLayout& layout, const Value& value) {
    Key key{};
    for (uint32_t i = 0; i < layout.parts; i++) insert_part(&key, layout.part[i], value(i));
    return key;
}

}  // namespace gpujoin
