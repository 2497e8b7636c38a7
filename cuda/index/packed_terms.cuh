// Terms in a form that is quick to test: order keys of both sides in arrays, the build side's by position, so
// that neighbouring candidates are neighbours in memory. A term whose keys may tie for different values is
// packed in a weaker form that allows for ties, and tested by value as well.
//
// Over the keys stands a tree of zones: the least and greatest key of every 64 positions, of every 32 zones,
// and so on. Descending from the top finds the zones in a range of positions that may hold a match without
// looking at the others; with intervals sorted by their start, the greatest end of each node makes it an
// interval tree in which a few very long intervals cost little.
#pragma once

#include <cstdint>

#include "engine/host_device.h"
#include "wire/join_spec.h"

namespace gpujoin::cuda {

inline constexpr uint32_t kZone = 64;
inline constexpr uint32_t kZoneFanoutBits = 5;  // a node's children are tested by one warp at once
inline constexpr uint32_t kZoneLevels = 6;      // enough for 2^32 positions

// The outcomes of comparing the probe's key with the build's under which a term holds.
enum PackedOutcome : uint8_t { kProbeLess = 1, kKeysEqual = 2, kProbeGreater = 4 };

// exact: order keys do not tie for different values.
GPUJOIN_HD inline uint8_t packed_outcomes(Comparison comparison, bool exact) {
    uint8_t tie = exact ? 0 : kKeysEqual;
    switch (comparison) {
        case Comparison::Equal:
            return kKeysEqual;
        case Comparison::NotEqual:
            return kProbeLess | kProbeGreater | tie;
        case Comparison::Less:
            return kProbeLess | tie;
        case Comparison::LessEqual:
            return kProbeLess | kKeysEqual;
        case Comparison::Greater:
            return kProbeGreater | tie;
        default:
            return kProbeGreater | kKeysEqual;
    }
}

struct PackedTerm {
    const uint64_t* keys;      // by position
    const uint64_t* least;     // by node
    const uint64_t* greatest;  // by node
    uint16_t probe_column;
    uint8_t outcomes;

    GPUJOIN_HD bool holds(uint64_t probe_key, uint64_t position) const {
        uint64_t key = keys[position];
        return outcomes & (probe_key < key ? kProbeLess : probe_key == key ? kKeysEqual : kProbeGreater);
    }

    // Whether the term may hold somewhere below a node.
    GPUJOIN_HD bool may_hold(uint64_t probe_key, uint64_t node) const {
        if (outcomes & kProbeLess && probe_key < greatest[node]) return true;
        if (outcomes & kProbeGreater && probe_key > least[node]) return true;
        return outcomes & kKeysEqual && least[node] <= probe_key && probe_key <= greatest[node];
    }
};

// The packed terms of a join. Nodes are numbered level by level from the zones upwards.
struct PackedTerms {
    const PackedTerm* terms = nullptr;
    uint32_t count = 0;
    bool has_tree = false;
    uint64_t level_first[kZoneLevels] = {};  // number of the first node of each level
};

}  // namespace gpujoin::cuda
