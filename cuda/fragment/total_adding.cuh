// Adding to the aggregates of groups by atomic operations. Lanes of a warp that add to the same group do so
// together: rows of few groups would otherwise queue for few addresses. What rounding takes from sums of
// floats is added up as well (compensated summation: A. Neumaier, ZAMM 54, 1974, by the exact error of an
// addition: D. Knuth, TAOCP 2, 4.2.2), which atomic additions allow, since they tell what was there.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/work/warp_sum.cuh"
#include "engine/filter_values.h"
#include "wire/fragment_spec.h"

namespace gpujoin::cuda {

// A double as an integer of the same order, and back. NaN is one value, above all others.
GPUJOIN_HD inline int64_t ordered_bits(double number) {
    if (number != number) return std::numeric_limits<int64_t>::max();
    const int64_t bits = as_bits(number);
    return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}
GPUJOIN_HD inline int64_t bits_of_ordered(int64_t ordered) {
    if (ordered == std::numeric_limits<int64_t>::max())
        return as_bits(std::numeric_limits<double>::quiet_NaN());
    return ordered < 0 ? ordered ^ std::numeric_limits<int64_t>::max() : ordered;
}

// Of all lanes.
template <typename T, typename Combine>
__device__ T warp_reduce(T value, const Combine& combine) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
    return value;
}

// What groups have of an aggregate, in global or shared memory. lost: of a sum of floats, what rounding took.
struct TotalPlace {
    std::byte* values;
    double* lost;
};

// How each kind of aggregate adds up values. Part: what some rows come to.
struct IntegerSum {
    struct Part {
        unsigned long long low;
        long long high;
    };
    __device__ static Part part(int64_t value) {
        return {static_cast<unsigned long long>(value), value >> 63};
    }
    __device__ static Part read(const TotalPlace& from, uint32_t group) {
        const auto* words = reinterpret_cast<const unsigned long long*>(from.values) + 2 * uint64_t{group};
        return {words[0], static_cast<long long>(words[1])};
    }
    // The halves are added up apart, in words that cannot overflow.
    __device__ static Part of_lanes(bool is_in, int64_t value) {
        auto plus = [](auto a, auto b) { return a + b; };
        const auto low =
            warp_reduce(is_in ? static_cast<unsigned long long>(value & 0xffffffff) : 0ull, plus);
        const auto high = warp_reduce(is_in ? static_cast<long long>(value >> 32) : 0ll, plus);
        const auto shifted = static_cast<unsigned long long>(high) << 32;
        return {shifted + low, (high >> 32) + (shifted + low < low)};
    }
    // A sum that others add to meanwhile: each carry is one addition's own. It would take 2^64 rows to leave
    // 127 bits.
    __device__ static void add(const TotalPlace& to, uint32_t group, Part part) {
        auto* words = reinterpret_cast<unsigned long long*>(to.values) + 2 * uint64_t{group};
        const unsigned long long before = part.low ? atomicAdd(&words[0], part.low) : 0;
        const auto high = static_cast<unsigned long long>(part.high) + (before + part.low < before);
        if (high) atomicAdd(&words[1], high);
    }
};

struct FloatSum {
    struct Part {
        double sum, lost;
    };
    // -0 is the sum of nothing: 0 would make 0 of -0 alone.
    GPUJOIN_HD static double none() { return -0.0; }
    // What rounding took from a sum. Of numbers that are not finite that is NaN.
    __device__ static double lost_by(double before, double number, double sum) {
        const double added = sum - before;
        return (before - (sum - added)) + (number - added);
    }
    __device__ static Part part(int64_t value) { return {as_double(value), 0}; }
    __device__ static Part read(const TotalPlace& from, uint32_t group) {
        return {reinterpret_cast<const double*>(from.values)[group], from.lost[group]};
    }
    __device__ static Part of_lanes(bool is_in, int64_t value) {
        double sum = is_in ? as_double(value) : none(), lost = 0;
        for (int distance = 16; distance > 0; distance /= 2) {
            const double other = __shfl_xor_sync(kAllLanes, sum, distance);
            const double both = sum + other;
            lost += __shfl_xor_sync(kAllLanes, lost, distance) + lost_by(sum, other, both);
            sum = both;
        }
        return {sum, lost};
    }
    // Each addition's loss is its own, also of a sum that others add to meanwhile.
    __device__ static void add(const TotalPlace& to, uint32_t group, Part part) {
        const double before = atomicAdd(reinterpret_cast<double*>(to.values) + group, part.sum);
        const double lost = part.lost + lost_by(before, part.sum, before + part.sum);
        if (lost != 0) atomicAdd(&to.lost[group], lost);
    }
    // What came of numbers that are not finite is as it is; and -0 stays what it is where nothing was lost.
    __device__ static void round(const TotalPlace& to, uint32_t group) {
        double& sum = reinterpret_cast<double*>(to.values)[group];
        if (!isfinite(sum) || to.lost[group] == 0) return;
        sum += to.lost[group];
        to.lost[group] = 0;
    }
};

// Of rows, whatever their values.
struct RowCount {
    using Part = unsigned long long;
    __device__ static Part read(const TotalPlace& from, uint32_t group) {
        return reinterpret_cast<const Part*>(from.values)[group];
    }
    __device__ static void add(const TotalPlace& to, uint32_t group, Part part) {
        if (part) atomicAdd(reinterpret_cast<Part*>(to.values) + group, part);
    }
};

template <bool kIsMinimum>
struct Extreme {
    using Part = long long;
    __device__ static Part none() {
        return kIsMinimum ? std::numeric_limits<long long>::max() : std::numeric_limits<long long>::min();
    }
    __device__ static Part better(Part a, Part b) { return (kIsMinimum ? b < a : a < b) ? b : a; }
    __device__ static Part part(int64_t value) { return value; }
    __device__ static Part read(const TotalPlace& from, uint32_t group) {
        return reinterpret_cast<const Part*>(from.values)[group];
    }
    __device__ static Part of_lanes(bool is_in, int64_t value) {
        return warp_reduce(is_in ? Part{value} : none(), better);
    }
    // Most values change nothing, which a look tells where atomic operations are dear.
    __device__ static void add(const TotalPlace& to, uint32_t group, Part part) {
        auto* extreme = reinterpret_cast<Part*>(to.values) + group;
        if (!__isShared(extreme)) {
            const Part before = __ldcg(extreme);
            if (better(before, part) == before) return;
        }
        if (kIsMinimum)
            atomicMin(extreme, part);
        else
            atomicMax(extreme, part);
    }
};

// Whether hardly any two lanes have the same group, so that they need not look for others of theirs. Called
// by all lanes together.
__device__ inline bool are_spread(uint32_t added, uint32_t group) {
    constexpr int kMostAlike = 4;
    const uint32_t lane = threadIdx.x & 31;
    bool is_alike = false;
    GPUJOIN_UNROLL
    for (uint32_t distance = 1; distance <= 4; distance *= 2) {
        const uint32_t other = __shfl_xor_sync(kAllLanes, group, distance);
        is_alike |= other == group && (added >> (lane ^ distance) & 1);
    }
    return __popc(__ballot_sync(kAllLanes, is_alike && (added >> lane & 1))) < kMostAlike;
}

// Adds the values of those lanes that have a bit in `added`, which is not empty, each to its group. Called by
// all lanes together.
template <typename Kind>
__device__ void add_lanes(uint32_t added, uint32_t group, int64_t value, const TotalPlace& to) {
    constexpr int kEnoughLanes = 4;  // fewer lanes of a group add one by one
    const uint32_t lane = threadIdx.x & 31;
    const bool is_added = added >> lane & 1;
    if (are_spread(added, group)) {
        if (is_added) Kind::add(to, group, Kind::part(value));
        return;
    }
    uint32_t peers = 0;
    if (is_added) peers = __match_any_sync(added, group);
    const bool together = __popc(peers) >= kEnoughLanes;
    if (is_added && !together) Kind::add(to, group, Kind::part(value));
    const bool leads = together && __ffs(static_cast<int>(peers)) - 1 == static_cast<int>(lane);
    for (uint32_t left = __ballot_sync(kAllLanes, leads); left != 0; left &= left - 1) {
        const int leader = __ffs(static_cast<int>(left)) - 1;
        const uint32_t lanes = __shfl_sync(kAllLanes, peers, leader);
        const auto part = Kind::of_lanes(lanes >> lane & 1, value);
        if (static_cast<int>(lane) == leader) Kind::add(to, group, part);
    }
}

template <>
__device__ inline void add_lanes<RowCount>(uint32_t added, uint32_t group, int64_t, const TotalPlace& to) {
    const uint32_t lane = threadIdx.x & 31;
    if (!(added >> lane & 1)) return;
    const uint32_t peers = __match_any_sync(added, group);
    if (__ffs(static_cast<int>(peers)) - 1 == static_cast<int>(lane))
        RowCount::add(to, group, static_cast<unsigned>(__popc(peers)));
}

}  // namespace gpujoin::cuda
