// Trees without pointers over an array of 64-bit keys, a node being kTreeNode consecutive entries (two
// cache lines), after the CSS-tree of Rao and Ross: SearchTree finds bounds in a sorted array, GroupSearch in
// sorted parts of one; MaximumTree lists the entries of an unsorted one that are as large as wanted, passing
// over stretches that hold none.
//
// Nodes are read as a whole: the array must have kTreeNode readable entries behind its last one.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/index/node_comparison.h"
#include "engine/engine.h"

namespace gpujoin::cpu {

// Finds bounds in a sorted array. Where keys are spread evenly a directory by their upper bits, with one
// entry for some keys, leads to a short stretch of them at once. Otherwise there is a tree: level 0 is the
// array; level k + 1 has the last key of each full node of level k.
class SearchTree {
  public:
    // keys[count], sorted; not owned.
    Status build(const Limits& limits, const uint64_t* keys, uint64_t count);

    // positions[i]: how many keys are less than values[i]. A block of values goes down level by level, so
    // that the cache misses of different values overlap.
    void find(const uint64_t* values, uint32_t count, uint32_t* positions) const;

    // Of values whose lower bounds are known, below[i] being that of a smaller value: the number of keys that
    // are not above highs[i], as positions. Looks at the keys behind below[i] first.
    void find_ends(const uint64_t* highs, const uint32_t* below, uint32_t count, uint32_t* ends) const;

  private:
    struct Level {
        const uint64_t* keys;
        uint64_t count;
    };
    Status build_levels(const Limits& limits);
    Status build_directory(const Limits& limits);
    void find_by_directory(const uint64_t* values, uint32_t count, uint32_t* positions) const;
    void find_by_levels(const uint64_t* values, uint32_t count, uint32_t* positions) const;

    std::vector<Level> levels_;
    HostArray memory_;
    uint64_t buckets_ = 0;  // of the directory: bucket b has the keys with (key - smallest) >> shift_ == b,
    uint32_t shift_ = 0;    // from position directory[b] up to directory[b + 1]; 0: there is none
};

// Finds bounds in stretches of an array that are sorted, each for itself: groups of rows with equal keys.
class GroupSearch {
  public:
    // keys[count]; not owned.
    Status build(const Limits& limits, const uint64_t* keys, uint64_t count);

    // positions[i]: the first in the stretch [firsts[i], ends[i]) whose key is not less than values[i], or
    // ends[i]. The searches of a block go on in step, so that their cache misses overlap.
    void find(const uint64_t* values, const uint32_t* firsts, const uint32_t* ends, uint32_t count,
              uint32_t* positions) const;

  private:
    const uint64_t* keys_ = nullptr;
    HostArray last_of_node_;  // the last key of each node of the array
};

// Level 0 is the array; level k + 1 has the largest key of each node of level k. Besides, the largest key up
// to the end of each node, which tells near the end of a stretch that nothing further left is large enough.
class MaximumTree {
  public:
    // keys[count]; not owned.
    Status build(const Limits& limits, const uint64_t* keys, uint64_t count);

    // Lists the positions in [*position, end) whose keys are at least `bound`, `room` at most (and at least
    // 1), and moves *position behind what was looked at. Returns their number.
    uint32_t list(uint64_t* position, uint64_t end, uint64_t bound, uint32_t room, uint32_t* found) const;

    // A position in [position, end] before which, in [position, end), there is no such key, found by looking
    // at a few nodes before `end`.
    uint64_t trim(uint64_t position, uint64_t end, uint64_t bound) const;

    // Fetches what trim() and list() will look at first.
    void prefetch(uint64_t end) const;

  private:
    std::vector<const uint64_t*> levels_;
    const uint64_t* running_ = nullptr;  // by node of level 0: the largest key up to its end
    HostArray memory_;
};

}  // namespace gpujoin::cpu
