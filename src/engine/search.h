// Searches in sorted arrays, after Baxter's moderngpu: bounds, merge path, and the load-balanced search that
// turns a list of counts into the owner of every output.
#pragma once

#include <cstdint>

#include "engine/host_device.h"

namespace gpujoin {

// The first position in [0, count) whose value is not less than `value`; count if there is none.
template <typename T, typename Index>
GPUJOIN_HD Index lower_bound(const T* sorted, Index count, const T& value) {
    Index first = 0;
    while (count > 0) {
        Index half = count / 2;
        bool right = sorted[first + half] < value;
        first = right ? first + half + 1 : first;
        count = right ? count - half - 1 : half;
    }
    return first;
}

// The first position in [0, count) whose value is greater than `value`; count if there is none.
template <typename T, typename Index>
GPUJOIN_HD Index upper_bound(const T* sorted, Index count, const T& value) {
    Index first = 0;
    while (count > 0) {
        Index half = count / 2;
        bool right = !(value < sorted[first + half]);
        first = right ? first + half + 1 : first;
        count = right ? count - half - 1 : half;
    }
    return first;
}

// Merge path: how many of the first `diagonal` values of the merge of a and b come from a. Of equal values
// those of a come first.
template <typename T, typename Index>
GPUJOIN_HD Index merge_path(const T* a, Index a_count, const T* b, Index b_count, Index diagonal) {
    Index low = diagonal > b_count ? diagonal - b_count : 0;
    Index high = diagonal < a_count ? diagonal : a_count;
    while (low < high) {
        Index middle = low + (high - low) / 2;
        if (b[diagonal - 1 - middle] < a[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// Load-balanced search: the row that owns output number `output`, where row i owns the outputs
// [starts[i], starts[i + 1]) and starts are exclusive prefix sums (rows without outputs own none). output is
// less than the sum of all counts.
template <typename Offset, typename Index>
GPUJOIN_HD Index find_owner(const Offset* starts, Index rows, Offset output) {
    return upper_bound(starts, rows, output) - 1;
}

}  // namespace gpujoin
