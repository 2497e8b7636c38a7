// The trees of the index algorithm.
#include "engine/cpu/index/key_trees.h"

#include <algorithm>
#include <bit>

#include "engine/cpu/work/simd.h"
#include "engine/cpu/work/workers.h"
#include "engine/key_interval.h"

namespace gpujoin::cpu {

namespace {

constexpr uint32_t kShort = 8;  // keys that are counted rather than searched
constexpr uint32_t kMostFound = 1024;
constexpr uint64_t kNearNodes = 4;  // stretches of so many nodes are read from end to end

// A directory has an entry for so many keys, and is used where the bucket of a key has at most so many keys
// in the mean.
constexpr uint64_t kKeysPerBucket = 4;
constexpr uint64_t kMostPerBucket = 32;

// Calls use(begin, end) for the parts of [0, count), one after the other; stops when cancelled.
template <typename Use>
Status for_parts(const Limits& limits, uint64_t count, const Use& use) {
    for (uint64_t begin = 0; begin < count; begin += kParallelRows) {
        if (should_stop(limits.cancel)) return cancelled_status();
        use(begin, std::min(count, begin + kParallelRows));
    }
    return {};
}

// counts[i]: how many of keys [firsts[i], ends[i]) are less than values[i]; added to firsts[i].
GPUJOIN_VECTOR void add_less(const uint64_t* keys, const uint64_t* values, const uint32_t* ends,
                             uint32_t count, uint32_t* firsts) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = values[i];
        const uint64_t* start = keys + firsts[i];
        uint32_t n = ends[i] - firsts[i];
        while (n > kShort) {
            uint32_t half = n / 2;
            start += start[half - 1] < value ? half : 0;
            n -= half;
        }
        // Keys behind the stretch are not less: no need to look where it ends.
        uint64_t less = 0;
        for (uint32_t k = 0; k < kShort; k++) less += start[k] < value;
        firsts[i] = static_cast<uint32_t>(start - keys + less);
    }
}

// For each value the number of entries of its node, of `size` keys at most, that are less.
GPUJOIN_VECTOR void descend(const uint64_t* keys, uint64_t size, const uint64_t* values, uint32_t count,
                            const uint64_t* below, uint32_t* positions) {
    for (uint32_t i = 0; i < count; i++) {
        // What came out above is the number of the node here.
        uint64_t start = uint64_t{positions[i]} * kTreeNode;
        const uint64_t* node = keys + start;
        uint64_t value = values[i];
        uint64_t smaller = 0;
        for (uint32_t k = 0; k < kTreeNode; k++) smaller += node[k] < value;
        positions[i] = static_cast<uint32_t>(std::min(start + smaller, size));
        if (below) {
            __builtin_prefetch(below + uint64_t{positions[i]} * kTreeNode);
            __builtin_prefetch(below + uint64_t{positions[i]} * kTreeNode + kTreeNode / 2);
        }
    }
}

// ends[i]: the position of the first of kShort keys from below[i] on that is above highs[i], or the one
// behind them.
GPUJOIN_VECTOR void scan_ends(const uint64_t* keys, const uint64_t* highs, const uint32_t* below,
                              uint32_t count, uint32_t* ends) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t* start = keys + below[i];
        uint64_t high = highs[i];
        uint64_t inside = 0;
        for (uint32_t k = 0; k < kShort; k++) inside += start[k] <= high;
        ends[i] = below[i] + static_cast<uint32_t>(inside);
    }
}

// One step of GroupSearch: halves the number of nodes of each search.
GPUJOIN_VECTOR void choose_half(const uint64_t* last, const uint64_t* values, uint32_t count, uint32_t* nodes,
                                uint32_t* positions) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t half = nodes[i] / 2;
        // Without halves left the comparison is of no account.
        uint32_t middle = positions[i] + (half > 0 ? half - 1 : 0);
        positions[i] += last[middle] < values[i] ? half : 0;
        nodes[i] -= half;
        __builtin_prefetch(last + positions[i] + nodes[i] / 2);
    }
}

// Of node positions[i] counts the keys inside of [firsts[i], ends[i]) that are less than values[i], and makes
// a position of it.
GPUJOIN_VECTOR void count_in_node(const uint64_t* keys, const uint64_t* values, const uint32_t* firsts,
                                  const uint32_t* ends, uint32_t count, uint32_t* positions) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = uint64_t{positions[i]} * kTreeNode;
        const uint64_t first = firsts[i], end = ends[i], value = values[i];
        uint64_t smaller = 0;
        for (uint64_t k = start; k < start + kTreeNode; k++)
            smaller += (keys[k] < value) & (k >= first) & (k < end);
        positions[i] = static_cast<uint32_t>(std::max(start, first) + smaller);
    }
}

// MaximumTree::list(): from node to node, down to those that have a large enough key, and up at the end of
// each.
template <typename NodeComparison>
inline __attribute__((always_inline)) uint32_t list_at_least(const uint64_t* const* levels, uint32_t top,
                                                             uint64_t* position, uint64_t end, uint64_t bound,
                                                             uint32_t room, uint32_t* found) {
    uint32_t listed = 0;
    uint64_t at = *position;  // an entry of `level`
    uint32_t level = 0;
    auto climb = [&] {
        for (; level < top && at % kTreeNode == 0; level++) at >>= kTreeNodeBits;
    };
    if (end - at > kNearNodes * kTreeNode) climb();
    while (at << (level * kTreeNodeBits) < end) {
        uint64_t start = at & ~uint64_t{kTreeNode - 1};
        uint64_t entries = ((end - 1) >> (level * kTreeNodeBits)) + 1 - start;
        uint64_t mask = NodeComparison::at_least(levels[level] + start, bound) >> (at - start)
                                                                                      << (at - start);
        if (entries < kTreeNode) mask &= (uint64_t{1} << entries) - 1;
        if (level == 0) {
            for (; mask != 0; mask &= mask - 1) {
                uint64_t hit = start + static_cast<uint32_t>(std::countr_zero(mask));
                if (listed == room) {
                    *position = hit;
                    return listed;
                }
                found[listed++] = static_cast<uint32_t>(hit);
            }
        } else if (mask != 0) {
            at = (start + static_cast<uint32_t>(std::countr_zero(mask))) << kTreeNodeBits;
            level--;
            continue;
        }
        if (level == top) break;
        at = start + kTreeNode;
        climb();
    }
    *position = end;
    return listed;
}

using List = uint32_t (*)(const uint64_t* const* levels, uint32_t top, uint64_t* position, uint64_t end,
                          uint64_t bound, uint32_t room, uint32_t* found);

#ifdef GPUJOIN_X86
__attribute__((target("avx2"))) uint32_t list_avx2(const uint64_t* const* levels, uint32_t top,
                                                   uint64_t* position, uint64_t end, uint64_t bound,
                                                   uint32_t room, uint32_t* found) {
    return list_at_least<Avx2NodeComparison>(levels, top, position, end, bound, room, found);
}
__attribute__((target("avx512f"))) uint32_t list_avx512(const uint64_t* const* levels, uint32_t top,
                                                        uint64_t* position, uint64_t end, uint64_t bound,
                                                        uint32_t room, uint32_t* found) {
    return list_at_least<Avx512NodeComparison>(levels, top, position, end, bound, room, found);
}
#endif

// The best that this processor can run.
List choose_list() {
#ifdef GPUJOIN_X86
    if (__builtin_cpu_supports("avx512f")) return list_avx512;
    if (__builtin_cpu_supports("avx2")) return list_avx2;
#endif
    return list_at_least<PlainNodeComparison>;
}

const List list_entries = choose_list();

}  // namespace

Status SearchTree::build(const Limits& limits, const uint64_t* keys, uint64_t count) {
    levels_.assign(1, {keys, count});
    GPUJOIN_RETURN_IF_FAILED(build_directory(limits));
    return buckets_ > 0 ? Status{} : build_levels(limits);
}

Status SearchTree::build_directory(const Limits& limits) {
    const uint64_t* keys = levels_[0].keys;
    const uint64_t count = levels_[0].count;
    if (count == 0) return {};
    uint64_t span = keys[count - 1] - keys[0];
    uint32_t shift = 0;
    // Two at least, so that a span of all 64 bits is not shifted away.
    while (span >> shift >= std::max<uint64_t>(count / kKeysPerBucket, 2)) shift++;
    const uint64_t buckets = (span >> shift) + 1;
    GPUJOIN_RETURN_IF_FAILED(memory_.allocate(limits.host_memory, (buckets + 1) * sizeof(uint32_t)));
    uint32_t* directory = memory_.as<uint32_t>();
    uint64_t bucket = 0, squares = 0;
    GPUJOIN_RETURN_IF_FAILED(for_parts(limits, count, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) {
            for (uint64_t b = (keys[i] - keys[0]) >> shift; bucket < b;)
                directory[++bucket] = static_cast<uint32_t>(i);
        }
    }));
    directory[buckets] = static_cast<uint32_t>(count);
    GPUJOIN_RETURN_IF_FAILED(for_parts(limits, buckets, [&](uint64_t begin, uint64_t end) {
        for (uint64_t b = begin; b < end; b++) {
            uint64_t size = directory[b + 1] - directory[b];
            squares += size * size;
        }
    }));
    if (squares > kMostPerBucket * count) {
        memory_.reset();
        return {};
    }
    buckets_ = buckets;
    shift_ = shift;
    return {};
}

Status SearchTree::build_levels(const Limits& limits) {
    // All upper levels together have less than a fifteenth of the keys; each has a node's room behind it.
    uint64_t entries = 0;
    for (uint64_t n = levels_[0].count; n > kTreeNode; entries += n + kTreeNode) n /= kTreeNode;
    GPUJOIN_RETURN_IF_FAILED(memory_.allocate(limits.host_memory, (entries + 1) * sizeof(uint64_t)));
    uint64_t* next = memory_.as<uint64_t>();
    while (levels_.back().count > kTreeNode) {
        const Level below = levels_.back();
        uint64_t nodes = below.count / kTreeNode;
        GPUJOIN_RETURN_IF_FAILED(for_parts(limits, nodes, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; i++) next[i] = below.keys[i * kTreeNode + kTreeNode - 1];
        }));
        std::fill_n(next + nodes, kTreeNode, KeyInterval::kHighest);
        levels_.push_back({next, nodes});
        next += nodes + kTreeNode;
    }
    return {};
}

void SearchTree::find(const uint64_t* values, uint32_t count, uint32_t* positions) const {
    if (buckets_ > 0) {
        find_by_directory(values, count, positions);
    } else {
        find_by_levels(values, count, positions);
    }
}

void SearchTree::find_by_directory(const uint64_t* values, uint32_t count, uint32_t* positions) const {
    const uint64_t* keys = levels_[0].keys;
    const uint32_t* directory = memory_.as<uint32_t>();
    const uint64_t smallest = keys[0];
    uint32_t ends[kMostFound];
    for (uint32_t begin = 0; begin < count; begin += kMostFound) {
        uint32_t n = std::min(kMostFound, count - begin);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t value = values[begin + i];
            uint64_t bucket =
                std::min(((value < smallest ? smallest : value) - smallest) >> shift_, buckets_ - 1);
            positions[begin + i] = directory[bucket];
            ends[i] = directory[bucket + 1];
        }
        for (uint32_t i = 0; i < n; i++) {
            __builtin_prefetch(keys + positions[begin + i]);
            __builtin_prefetch(keys + positions[begin + i] + kShort - 1);
        }
        add_less(keys, values + begin, ends, n, positions + begin);
    }
}

void SearchTree::find_by_levels(const uint64_t* values, uint32_t count, uint32_t* positions) const {
    std::fill(positions, positions + count, 0);
    for (size_t l = levels_.size(); l-- > 0;)
        descend(levels_[l].keys, levels_[l].count, values, count, l > 0 ? levels_[l - 1].keys : nullptr,
                positions);
}

void SearchTree::find_ends(const uint64_t* highs, const uint32_t* below, uint32_t count,
                           uint32_t* ends) const {
    const uint32_t size = static_cast<uint32_t>(levels_[0].count);
    scan_ends(levels_[0].keys, highs, below, count, ends);
    uint64_t values[kMostFound];
    uint32_t far[kMostFound], positions[kMostFound];
    for (uint32_t begin = 0; begin < count; begin += kMostFound) {
        uint32_t n = std::min(kMostFound, count - begin), open = 0;
        for (uint32_t i = begin; i < begin + n; i++) {
            far[open] = i;
            // The upper bound of a key is the lower bound of the next one.
            values[open] = highs[i] + (highs[i] < KeyInterval::kHighest);
            open += ends[i] >= below[i] + kShort;
        }
        find(values, open, positions);
        for (uint32_t k = 0; k < open; k++)
            ends[far[k]] = highs[far[k]] == KeyInterval::kHighest ? size : positions[k];
    }
    for (uint32_t i = 0; i < count; i++) ends[i] = std::min(ends[i], size);
}

Status GroupSearch::build(const Limits& limits, const uint64_t* keys, uint64_t count) {
    const uint64_t nodes = count / kTreeNode;
    keys_ = keys;
    GPUJOIN_RETURN_IF_FAILED(last_of_node_.allocate(limits.host_memory, (nodes + 1) * sizeof(uint64_t)));
    uint64_t* last = last_of_node_.as<uint64_t>();
    return for_parts(limits, nodes, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) last[i] = keys[i * kTreeNode + kTreeNode - 1];
    });
}

void GroupSearch::find(const uint64_t* values, const uint32_t* firsts, const uint32_t* ends, uint32_t count,
                       uint32_t* positions) const {
    const uint64_t* last = last_of_node_.as<uint64_t>();
    uint32_t nodes[kMostFound];  // the number of nodes that are left to choose from
    for (uint32_t begin = 0; begin < count; begin += kMostFound) {
        uint32_t n = std::min(kMostFound, count - begin), most = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = firsts[begin + i], end = ends[begin + i];
            positions[begin + i] = first / kTreeNode;
            nodes[i] = first < end ? (end - 1) / kTreeNode - first / kTreeNode + 1 : 1;
            most = std::max(most, nodes[i]);
            __builtin_prefetch(last + first / kTreeNode + nodes[i] / 2 - 1);
        }
        // All nodes of a stretch but its last one end inside of it.
        for (; most > 1; most -= most / 2) choose_half(last, values + begin, n, nodes, positions + begin);
        for (uint32_t i = begin; i < begin + n; i++) {
            __builtin_prefetch(keys_ + uint64_t{positions[i]} * kTreeNode);
            __builtin_prefetch(keys_ + uint64_t{positions[i]} * kTreeNode + kTreeNode / 2);
        }
        count_in_node(keys_, values + begin, firsts + begin, ends + begin, n, positions + begin);
    }
}

Status MaximumTree::build(const Limits& limits, const uint64_t* keys, uint64_t count) {
    levels_.assign(1, keys);
    uint64_t entries = 0;
    for (uint64_t n = count; n > kTreeNode; entries += n + kTreeNode) n = (n + kTreeNode - 1) / kTreeNode;
    const uint64_t leaves = (count + kTreeNode - 1) / kTreeNode;
    GPUJOIN_RETURN_IF_FAILED(memory_.allocate(limits.host_memory, (leaves + entries + 1) * sizeof(uint64_t)));
    uint64_t* next = memory_.as<uint64_t>();
    uint64_t largest = 0;
    GPUJOIN_RETURN_IF_FAILED(for_parts(limits, count, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) {
            largest = std::max(largest, keys[i]);
            next[i / kTreeNode] = largest;
        }
    }));
    running_ = next;
    next += leaves;
    for (uint64_t n = count; n > kTreeNode;) {
        const uint64_t* below = levels_.back();
        uint64_t nodes = (n + kTreeNode - 1) / kTreeNode;
        GPUJOIN_RETURN_IF_FAILED(for_parts(limits, nodes, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; i++)
                next[i] = *std::max_element(below + i * kTreeNode, below + std::min(n, (i + 1) * kTreeNode));
        }));
        levels_.push_back(next);
        next += nodes + kTreeNode;
        n = nodes;
    }
    return {};
}

uint32_t MaximumTree::list(uint64_t* position, uint64_t end, uint64_t bound, uint32_t room,
                           uint32_t* found) const {
    return list_entries(levels_.data(), static_cast<uint32_t>(levels_.size() - 1), position, end, bound, room,
                        found);
}

uint64_t MaximumTree::trim(uint64_t position, uint64_t end, uint64_t bound) const {
    if (position >= end) return end;
    uint64_t node = (end - 1) / kTreeNode;
    for (uint64_t i = 0; i < kNearNodes; i++, node--) {
        if (node * kTreeNode <= position) return position;
        if (running_[node - 1] < bound) return node * kTreeNode;
    }
    return position;
}

void MaximumTree::prefetch(uint64_t end) const {
    const uint64_t node = end / kTreeNode;
    __builtin_prefetch(running_ + node);
    __builtin_prefetch(levels_[0] + node * kTreeNode);
    __builtin_prefetch(levels_[0] + node * kTreeNode + kTreeNode / 2);
}

}  // namespace gpujoin::cpu
