// TotalView: an aggregate of groups as kernels see it, and what is done to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/fragment/total_adding.cuh"
#include "wire/fragment_spec.h"

namespace gpujoin::cuda {

// Its values are words, by group: one for a count or an extreme, two for a sum of integers; or doubles.
// Extremes of floats are kept as integers of the same order.
struct TotalView {
    AggregateSpec spec;
    bool is_float;
    TotalPlace place;
    uint8_t* null_flags;    // nullptr: never NULL
    bool has_always_value;  // each row so far had one: a group is not NULL from the beginning

    // Whether a row that is added has to tell that the group has a value now.
    GPUJOIN_HD bool notes_values() const { return null_flags && !has_always_value; }
    GPUJOIN_HD bool is_extreme() const {
        return spec.function == AggregateFunction::Minimum || spec.function == AggregateFunction::Maximum;
    }
    // What there is of no row, in one word.
    __device__ int64_t nothing() const {
        switch (spec.function) {
            case AggregateFunction::Minimum:
                return Extreme<true>::none();
            case AggregateFunction::Maximum:
                return Extreme<false>::none();
            case AggregateFunction::Sum:
                return is_float ? as_bits(FloatSum::none()) : 0;
            default:
                return 0;
        }
    }
    // A value as it is added.
    __device__ int64_t added(int64_t value) const {
        return is_extreme() && is_float ? ordered_bits(as_double(value)) : value;
    }
};

// Calls body(kind) with the kind of a total.
template <typename Body>
__device__ void with_kind(const TotalView& total, const Body& body) {
    switch (total.spec.function) {
        case AggregateFunction::Count:
            return body(RowCount{});
        case AggregateFunction::Sum:
            if (total.is_float)
                body(FloatSum{});
            else
                body(IntegerSum{});
            return;
        case AggregateFunction::Minimum:
            return body(Extreme<true>{});
        default:
            return body(Extreme<false>{});
    }
}

// What a group has before any row is added.
__device__ inline void begin_total(const TotalView& total, uint64_t group) {
    auto* words = reinterpret_cast<int64_t*>(total.place.values);
    if (total.null_flags) total.null_flags[group] = !total.has_always_value;
    if (total.spec.function == AggregateFunction::Sum && !total.is_float)
        words[2 * group] = words[2 * group + 1] = 0;
    else
        words[group] = total.nothing();
    if (total.place.lost) total.place.lost[group] = 0;
}

// Adds what a group has in one place to what it has in another, where it may have another number.
__device__ inline void add_total(const TotalView& from, uint32_t number, const TotalView& to,
                                 uint32_t group) {
    if (from.null_flags && from.null_flags[number]) return;
    if (to.notes_values()) to.null_flags[group] = 0;
    with_kind(from, [&](auto kind) {
        using Kind = decltype(kind);
        Kind::add(to.place, group, Kind::read(from.place, number));
    });
}

// Adds the values of those lanes that have a bit in `added` to their groups. Called by all lanes of a warp
// together.
__device__ inline void add_rows(const TotalView& total, uint32_t added, uint32_t group, int64_t value) {
    if (added == 0) return;
    const bool is_added = added >> (threadIdx.x & 31) & 1;
    if (is_added && total.notes_values()) total.null_flags[group] = 0;
    const int64_t own = is_added ? total.added(value) : 0;
    with_kind(total, [&](auto kind) { add_lanes<decltype(kind)>(added, group, own, total.place); });
}

}  // namespace gpujoin::cuda
