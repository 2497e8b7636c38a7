// Reading equality keys from the columns of either side: packed, as places among the keys of the build side,
// or hashed, and what sides are sorted by to be merged.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/columns/column_view.cuh"
#include "engine/hash.h"
#include "engine/host_device.h"
#include "engine/key_layout.h"

namespace gpujoin::cuda {

// A key that is known by its hash: equal hashes need a comparison column by column.
struct HashedKey {
    uint64_t hash;
};

template <bool Build>
GPUJOIN_HD const DeviceColumn& key_column(const KeyPart& part, const DeviceColumn* columns) {
    return columns[Build ? part.build_column : part.probe_column];
}

// The place of a row's key; false when it has none, since no build row has such a key.
template <bool Build>
GPUJOIN_HD bool find_place(const KeyLayout& layout, const DeviceColumn* columns, uint64_t row,
                           uint64_t* place) {
    *place = 0;
    for (uint32_t i = 0; i < layout.parts; i++) {
        const DeviceColumn& column = key_column<Build>(layout.part[i], columns);
        if (!layout.places.add(i, order_key(column.spec, column.value(row)), place)) return false;
    }
    return true;
}

// Reads the key of a row, which has a place if the layout goes by places; Build says which side's columns are
// given.
template <typename Key, bool Build>
GPUJOIN_HD Key read_key(const KeyLayout& layout, const DeviceColumn* columns, uint64_t row) {
    if constexpr (std::is_same_v<Key, HashedKey>) {
        uint64_t hash = 0;
        for (uint32_t i = 0; i < layout.parts; i++) {
            ValueRef value = key_column<Build>(layout.part[i], columns).value(row);
            uint32_t width = layout.part[i].width;
            hash = combine_hashes(
                hash, width ? hash_fixed(value.data, width) : hash_bytes(value.data, value.bytes));
        }
        return {hash};
    } else {
        if constexpr (std::is_integral_v<Key>) {
            if (layout.by_place) {
                uint64_t place;
                find_place<Build>(layout, columns, row, &place);
                return static_cast<Key>(place);
            }
        }
        return pack_key<Key>(layout, [&](uint32_t i) {
            const KeyPart& part = layout.part[i];
            return key_column<Build>(part, columns).values + row * part.width;
        });
    }
}

// What rows are sorted by to be merged on their equality columns: the key's place, which is one more than the
// last where it has none, else the packed key, else a hash.
inline bool has_exact_sort_key(const KeyLayout& layout) {
    return layout.bytes == 4 || layout.bytes == 8;
}
template <typename Key, bool Build>
GPUJOIN_HD Key read_sort_key(const KeyLayout& layout, const DeviceColumn* columns, uint64_t row) {
    if (layout.by_place) {
        uint64_t place;
        return static_cast<Key>(find_place<Build>(layout, columns, row, &place) ? place
                                                                                : layout.places.last + 1);
    }
    if (layout.bytes == sizeof(Key)) return read_key<Key, Build>(layout, columns, row);
    return static_cast<Key>(read_key<HashedKey, Build>(layout, columns, row).hash);
}

template <typename Key>
GPUJOIN_HD uint64_t hash_of(const Key& key) {
    return hash_key(key);
}
GPUJOIN_HD inline uint64_t hash_of(const HashedKey& key) {
    return key.hash;
}

}  // namespace gpujoin::cuda
