// Rebasing: the values of a column often lie close together, far from zero (ids, dates, timestamps). Counted
// from the least of the build side's they have few significant bits: fewer to be sorted by, and several
// columns may share one small key. All of it is about order keys (compare.h), of which each span includes
// both ends.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/host_device.h"

namespace gpujoin {

// What keys are rebased by to be compared for order. The span that is the default changes no key.
struct KeySpan {
    uint64_t first = 1;
    uint64_t last = ~uint64_t{0} - 1;

    // The first becomes 1. Keys below the span become 0, and keys above it one more than the last: so a key
    // inside compares with any key as it did before.
    GPUJOIN_HD uint64_t rebase(uint64_t key) const {
        if (key < first) return 0;
        return (key > last ? last + 1 : key) - first + 1;
    }

    // Of rebased keys.
    int bits() const { return std::bit_width(last - first + 2); }
    bool operator==(const KeySpan&) const = default;
};

// The places of equality keys: the combinations of values within the spans of all their columns, numbered
//   (key 0 - first 0) * stride 0 + (key 1 - first 1) * stride 1 + …
struct KeyPlaces {
    static constexpr uint32_t kMaxParts = 8;
    struct Part {
        uint64_t first;
        uint64_t span;  // the last less the first
        uint64_t stride;
    };

    uint32_t parts = 0;  // 0: keys have no places
    uint64_t last = 0;   // the greatest place
    Part part[kMaxParts] = {};

    // Adds a part's share to the place; false where its key lies outside its span.
    GPUJOIN_HD bool add(uint32_t i, uint64_t key, uint64_t* place) const {
        uint64_t value = key - part[i].first;  // wraps around below the first
        *place += value * part[i].stride;
        return value <= part[i].span;
    }
};

// The places of keys of `parts` columns, if they can be numbered so, with one more number to spare.
inline KeyPlaces make_key_places(const KeySpan* spans, uint32_t parts) {
    if (parts > KeyPlaces::kMaxParts) return {};
    KeyPlaces places;
    uint64_t count = 1;
    for (uint32_t i = 0; i < parts; i++) {
        uint64_t span = spans[i].last - spans[i].first;
        places.part[i] = {spans[i].first, span, count};
        if (span == ~uint64_t{0} || __builtin_mul_overflow(count, span + 1, &count)) return {};
    }
    places.parts = parts;
    places.last = count - 1;
    return places;
}

}  // namespace gpujoin
