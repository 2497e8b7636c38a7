// A tree over sorted keys, after Rao and Ross's CSS-tree: each level has every eighth key of the level below,
// so that nodes of eight keys need no pointers, and a search reads a node at once. What limits searches in
// large arrays is how much memory they touch: here a sector or two a level, and of device memory those of the
// lowest level alone as long as the others stay in the second-level cache. The top level, the root, is for
// shared memory.
//
//   level 2    K                               K     …
//   level 1    K   K   K   K   K   K   K   K   K     …
//   level 0    all keys, where they are
//   fences     levels 1, 2, … one behind the other, each filled up to whole nodes, with any keys: no search
//              counts them
#pragma once

#include <cstdint>

#include "cuda/columns/key_vector.cuh"
#include "engine/host_device.h"
#include "engine/search.h"

namespace gpujoin::cuda {

inline constexpr uint32_t kNodeKeys = 8;
inline constexpr uint32_t kTreeLevels = 8;  // as many as 2^32 keys need

template <typename Key>
struct SearchTree {
    static constexpr uint32_t kRootKeys = (32 << 10) / sizeof(Key);  // at most
    static_assert(kRootKeys * uint64_t{1} << 3 * (kTreeLevels - 1) >= uint64_t{1} << 32);

    const Key* level[kTreeLevels];
    uint32_t count[kTreeLevels];  // keys of each level
    uint32_t top;                 // the root's level

    // Keys of a level with those that fill its last node up.
    GPUJOIN_HD uint64_t padded(uint32_t number) const {
        return (uint64_t{count[number]} + kNodeKeys - 1) / kNodeKeys * kNodeKeys;
    }
    uint64_t fence_keys() const {
        uint64_t keys = 0;
        for (uint32_t i = 1; i <= top; i++) keys += padded(i);
        return keys;
    }
};

// The tree over `count` > 0 sorted keys with these fences, which may be null if only their number matters.
// Both lie at multiples of 16 bytes.
template <typename Key>
SearchTree<Key> make_search_tree(const Key* keys, uint32_t count, const Key* fences) {
    SearchTree<Key> tree{{keys}, {count}, 0};
    while (tree.count[tree.top] > tree.kRootKeys) {
        uint32_t below = tree.top++;
        tree.count[tree.top] = (tree.count[below] - 1) / kNodeKeys + 1;
        tree.level[tree.top] = fences;
        if (fences) fences += tree.padded(tree.top);
    }
    return tree;
}

// How many of the sorted keys lie before a cut.
template <typename Key>
GPUJOIN_HD uint32_t count_before(const Key* keys, uint32_t count, Key key, bool after) {
    return after ? upper_bound(keys, count, key) : lower_bound(keys, count, key);
}

// The same of a whole node, which is read at once.
template <typename Key>
GPUJOIN_HD uint32_t count_in_node(const Key* node, Key key, bool after) {
    using Vector = KeyVector<Key>;
    Vector parts[kNodeKeys / Vector::kKeys];
    for (uint32_t i = 0; i < kNodeKeys / Vector::kKeys; i++)
        parts[i] = reinterpret_cast<const Vector*>(node)[i];
    uint32_t before = 0;
    for (const Vector& part : parts) {
        for (Key held : part.key) before += after ? held <= key : held < key;
    }
    return before;
}

// A search from the root down. root: the keys of the top level.
template <typename Key>
GPUJOIN_HD uint32_t count_before(const SearchTree<Key>& tree, const Key* root, Key key, bool after) {
    uint32_t before = count_before(root, tree.count[tree.top], key, after);
    for (uint32_t i = tree.top; i-- > 0 && before > 0;) {
        // The first key of this node is before the cut, the first of the next is not.
        uint32_t first = (before - 1) * kNodeKeys;
        uint32_t left = tree.count[i] - first;
        const Key* node = tree.level[i] + first;
        bool whole = i > 0 || left >= kNodeKeys;
        uint32_t inside = whole ? count_in_node(node, key, after) : count_before(node, left, key, after);
        before = first + (inside < left ? inside : left);
    }
    return before;
}

}  // namespace gpujoin::cuda
