// KeyInterval: the build order keys (compare.h) that range terms leave to a probe row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/compare.h"
#include "wire/join_spec.h"

namespace gpujoin {

// Whether a term bounds the build column from below.
inline bool is_lower_bound(const Term& term) {
    return term.comparison == Comparison::Less || term.comparison == Comparison::LessEqual;
}

// What a term's comparison becomes between order keys: where they may tie for different values, the interval
// includes those that tie.
inline Comparison compare_order_keys(const ColumnSpec& column, Comparison comparison) {
    if (order_key_is_exact(column)) return comparison;
    if (comparison == Comparison::Less) return Comparison::LessEqual;
    return comparison == Comparison::Greater ? Comparison::GreaterEqual : comparison;
}

struct KeyInterval {
    static constexpr uint64_t kHighest = ~uint64_t{0};
    uint64_t low = 0;
    uint64_t high = kHighest;

    bool empty() const { return low > high; }

    // Leaves the build keys for which "key <comparison> build key" holds. One that is empty stays so.
    void narrow(uint64_t key, Comparison comparison) {
        if (empty()) return;
        bool none = false;
        switch (comparison) {
            case Comparison::Less:
                none = key == kHighest;
                low = std::max(low, key + 1);
                break;
            case Comparison::LessEqual:
                low = std::max(low, key);
                break;
            case Comparison::Greater:
                none = key == 0;
                high = std::min(high, key - 1);
                break;
            default:
                high = std::min(high, key);
        }
        if (none) *this = {1, 0};
    }
};

}  // namespace gpujoin
