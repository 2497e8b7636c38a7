// The lookup structure, as kernels see it: from a probe row to the build rows that may match it.
//
//   key ──► leader (the build row that came first with this key) ──► group (begin, count)
//       ──► positions rows[begin … begin + count) ──► build rows
//
// Leaders are found in a direct array indexed by the key's place where these are dense, or few, else in an
// open-addressing table of 8-byte slots: a 32-bit tag (the key itself if it has 4 bytes, else bits of its
// hash) and the leader. Unique keys need no groups: the leader is the match. Where a join asks for nothing of
// the build side but one column of 4 bytes, its values may be held in the place of row numbers, by position
// or, of unique keys, in the direct array or in a table of keys of 4 bytes: one random access a result, not
// two. Without equalities there is one group of all rows. Inside a group, rows may be sorted by an order key
// and narrowed by search.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/columns/key_reading.cuh"
#include "cuda/index/search_tree.cuh"
#include "engine/host_device.h"
#include "engine/key_layout.h"

namespace gpujoin::cuda {

inline constexpr uint64_t kEmptySlot = ~uint64_t{0};

struct Group {
    uint32_t begin;
    uint32_t count;
};

// A range term as a search among sorted order keys: cuts off the candidates below or above.
struct RangeBound {
    uint16_t probe_column;
    bool below;  // cuts off what lies below; else above
    bool after;  // the cut is after the keys equal to the probe's; else before them
    bool near;   // candidates are already cut off below, and not many are expected to be left
};

struct LookupView {
    KeyLayout layout;
    const DeviceColumn* build = nullptr;  // all build columns
    const uint32_t* direct = nullptr;     // leader by the key's place, or null
    uint64_t* slots = nullptr;
    uint64_t capacity = 0;
    const Group* groups = nullptr;            // by leader; null: unique keys, or no equalities
    const uint32_t* rows = nullptr;           // by position, or values; null: a position is a build row
    uint64_t positions = 0;                   // of the one group when there are no equalities
    KeySpan span;                             // by which order keys are rebased
    const uint32_t* narrow_keys = nullptr;    // order keys by position, if they fit 32 bits
    const uint64_t* order_keys = nullptr;     // else
    const uint32_t* narrow_fences = nullptr;  // of narrow_keys, if there is one large group
    const uint64_t* order_fences = nullptr;   // of order_keys
    const RangeBound* bounds = nullptr;
    uint32_t bound_count = 0;
    bool merge = false;            // keys are there to be merged with (merge_search.h)
    int merge_bits = 0;            // of the keys, on either side
    bool merge_cut_after = false;  // by the first bound

    // A build row, or the value that is held in its place.
    GPUJOIN_HD uint32_t row_at(uint64_t position) const {
        return rows ? rows[position] : static_cast<uint32_t>(position);
    }
};

GPUJOIN_HD inline uint64_t multiply_high(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}

// A slot's tag; exact for 4-byte keys. The slot number comes from the hash's upper bits.
template <typename Key>
GPUJOIN_HD uint32_t tag_of(const Key&, uint64_t hash) {
    return static_cast<uint32_t>(hash);
}
GPUJOIN_HD inline uint32_t tag_of(uint32_t key, uint64_t) {
    return key;
}

// Whether a build row whose tag agrees has the key of `row` of the side that `columns` belong to.
template <typename Key, bool Build>
GPUJOIN_HD bool same_key(const LookupView& view, uint32_t build_row, const Key& key,
                         const DeviceColumn* columns, uint64_t row) {
    if constexpr (std::is_same_v<Key, uint32_t>) {
        return true;
    } else if constexpr (std::is_same_v<Key, HashedKey>) {
        for (uint32_t i = 0; i < view.layout.parts; i++) {
            const KeyPart& part = view.layout.part[i];
            if (!equal_values(view.build[part.build_column].value(build_row),
                              key_column<Build>(part, columns).value(row)))
                return false;
        }
        return true;
    } else {
        return read_key<Key, true>(view.layout, view.build, build_row) == key;
    }
}

GPUJOIN_HD inline uint32_t leader_in(uint64_t slot) {
    return static_cast<uint32_t>(slot);
}
GPUJOIN_HD inline uint32_t tag_in(uint64_t slot) {
    return static_cast<uint32_t>(slot >> 32);
}
GPUJOIN_HD inline uint64_t make_slot(uint32_t tag, uint32_t leader) {
    return uint64_t{tag} << 32 | leader;
}

// What the table's slot of a key holds; kEmptySlot if no build row has the key. probe, row: where it is from.
template <typename Key>
GPUJOIN_HD uint64_t find_slot(const LookupView& view, const Key& key, const DeviceColumn* probe,
                              uint64_t row) {
    uint64_t hash = hash_of(key);
    uint32_t tag = tag_of(key, hash);
    uint64_t slot = multiply_high(hash, view.capacity);
    while (true) {
        uint64_t held = view.slots[slot];
        if (held == kEmptySlot) return kEmptySlot;
        if (tag_in(held) == tag && same_key<Key, false>(view, leader_in(held), key, probe, row)) return held;
        slot = slot + 1 == view.capacity ? 0 : slot + 1;
    }
}

// Whether a build row has a probe row's key. leader: of that key, or the value that is held in its place.
template <typename Key>
GPUJOIN_HD bool find_leader(const LookupView& view, const DeviceColumn* probe, uint64_t row,
                            uint32_t* leader) {
    uint64_t place = 0;
    if (view.layout.places.parts > 0 && !find_place<false>(view.layout, probe, row, &place)) return false;
    if (view.direct) {
        *leader = view.direct[place];
        return *leader != kNoRow;
    }
    uint64_t held = find_slot(view, read_key<Key, false>(view.layout, probe, row), probe, row);
    *leader = leader_in(held);
    return held != kEmptySlot;
}

// How many of the sorted keys lie before a cut that is near the beginning: one by one at first, as there are
// often none or one, then by steps that double.
template <typename Key>
GPUJOIN_HD uint32_t count_before_near(const Key* keys, uint32_t count, Key key, bool after) {
    constexpr uint32_t kSingleSteps = 3;
    auto before = [&](uint64_t i) { return keys[i] < key || (after && keys[i] == key); };
    uint64_t first = 0;
    for (; first < kSingleSteps; first++) {
        if (first == count || !before(first)) return static_cast<uint32_t>(first);
    }
    uint64_t step = 1;
    for (; first + step <= count && before(first + step - 1); step *= 2) first += step;
    uint64_t inside = count - first < step ? count - first : step;
    return static_cast<uint32_t>(first) +
           count_before(keys + first, static_cast<uint32_t>(inside), key, after);
}

// Narrows a group's positions to those within the bounds of a probe row, from number first_bound on.
// order_keys: by position. tree: over the group's keys, with its root, or null.
template <typename Key>
GPUJOIN_HD Group narrow(const LookupView& view, const Key* order_keys, Group group, const DeviceColumn* probe,
                        uint64_t row, uint32_t first_bound = 0, const SearchTree<Key>* tree = nullptr,
                        const Key* root = nullptr) {
    const Key* keys = order_keys + group.begin;
    uint32_t begin = 0;
    uint32_t end = group.count;
    for (uint32_t i = first_bound; i < view.bound_count && begin < end; i++) {
        const RangeBound& bound = view.bounds[i];
        const DeviceColumn& column = probe[bound.probe_column];
        auto key = static_cast<Key>(view.span.rebase(order_key(column.spec, column.value(row))));
        uint32_t inside = end - begin;
        uint32_t cut;
        if (tree && inside == group.count)
            cut = count_before(*tree, root, key, bound.after);
        else if (bound.near)
            cut = begin + count_before_near(keys + begin, inside, key, bound.after);
        else
            cut = begin + count_before(keys + begin, inside, key, bound.after);
        (bound.below ? begin : end) = cut;
    }
    return {group.begin + begin, end - begin};
}

}  // namespace gpujoin::cuda
