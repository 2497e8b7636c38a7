// Tests of terms. The type and order of the columns are looked at once a call; the loops are over order keys,
// which are unsigned integers, so that a run against one probe value is one interval test a row for any
// comparison.
#include "engine/cpu/filter/term_tester.h"

#include <limits>

#include "engine/compare.h"
#include "engine/cpu/work/simd.h"

namespace gpujoin::cpu {

namespace {

// The order key of a fixed value as an integer of the same width.
template <typename T, ValueOrder kOrder>
T key_of(T bits) {
    constexpr uint32_t width_bits = 8 * sizeof(T);
    if constexpr (kOrder == ValueOrder::Signed) {
        return static_cast<T>(bits ^ T(T(1) << (width_bits - 1)));
    } else if constexpr (kOrder == ValueOrder::Float) {
        return static_cast<T>(float_order_key(bits, width_bits));
    } else if constexpr (kOrder == ValueOrder::Bytes && sizeof(T) > 1) {
        if constexpr (sizeof(T) == 2) return __builtin_bswap16(bits);
        if constexpr (sizeof(T) == 4) return __builtin_bswap32(bits);
        if constexpr (sizeof(T) == 8) return __builtin_bswap64(bits);
    } else {
        return bits;
    }
}

// Bit 0: the comparison holds when probe < build; bit 1: when equal; bit 2: when greater.
uint32_t accepted_orders(Comparison comparison) {
    uint32_t accepted = 0;
    for (int order = -1; order <= 1; order++)
        accepted |= uint32_t{satisfies(comparison, order)} << (order + 1);
    return accepted;
}

template <typename T, ValueOrder kOrder>
void pairs_of(const std::byte* probe_values, const std::byte* build_values, Comparison comparison,
              const uint32_t* probe, const uint32_t* build, uint32_t pairs, uint8_t* keep) {
    const T* left = reinterpret_cast<const T*>(probe_values);
    const T* right = reinterpret_cast<const T*>(build_values);
    const uint32_t accepted = accepted_orders(comparison);
    for (uint32_t i = 0; i < pairs; i++) {
        T a = key_of<T, kOrder>(left[probe[i]]);
        T b = key_of<T, kOrder>(right[build[i]]);
        uint32_t order = 1u + (a > b) - (a < b);
        keep[i] &= accepted >> order & 1;
    }
}

// The build keys that the comparison accepts for one probe key: those in [low, low + span], or all others.
template <typename T>
struct Accepted {
    T low;
    T span;
    uint8_t invert;
};

template <typename T>
Accepted<T> accepted_keys(Comparison comparison, T probe) {
    constexpr T most = std::numeric_limits<T>::max();
    switch (comparison) {
        case Comparison::Equal:
            return {probe, 0, 0};
        case Comparison::NotEqual:
            return {probe, 0, 1};
        case Comparison::Less:  // not (build <= probe)
            return {0, probe, 1};
        case Comparison::LessEqual:
            return {probe, static_cast<T>(most - probe), 0};
        case Comparison::Greater:  // not (build >= probe)
            return {probe, static_cast<T>(most - probe), 1};
        default:
            return {0, probe, 0};
    }
}

template <typename T, ValueOrder kOrder>
void run_of(const std::byte* probe_values, const std::byte* build_values, Comparison comparison,
            uint32_t probe, uint32_t first, uint32_t rows, uint8_t* keep) {
    T key = key_of<T, kOrder>(reinterpret_cast<const T*>(probe_values)[probe]);
    const T* build = reinterpret_cast<const T*>(build_values) + first;
    const Accepted<T> accepted = accepted_keys(comparison, key);
    for (uint32_t i = 0; i < rows; i++) {
        T distance = static_cast<T>(key_of<T, kOrder>(build[i]) - accepted.low);
        keep[i] &= static_cast<uint8_t>((distance <= accepted.span) ^ accepted.invert);
    }
}

// Calls use.template operator()<T, kOrder>() for a column of at most 8 bytes.
template <typename T, typename Use>
void with_order(ValueOrder order, const Use& use) {
    switch (order) {
        case ValueOrder::Unsigned:
            return use.template operator()<T, ValueOrder::Unsigned>();
        case ValueOrder::Signed:
            return use.template operator()<T, ValueOrder::Signed>();
        case ValueOrder::Bytes:
            return use.template operator()<T, ValueOrder::Bytes>();
        case ValueOrder::Float:
            if constexpr (sizeof(T) >= 4) use.template operator()<T, ValueOrder::Float>();
    }
}

template <typename Use>
void with_type(const ColumnSpec& column, const Use& use) {
    switch (column.type) {
        case ColumnType::Fixed1:
            return with_order<uint8_t>(column.order, use);
        case ColumnType::Fixed2:
            return with_order<uint16_t>(column.order, use);
        case ColumnType::Fixed4:
            return with_order<uint32_t>(column.order, use);
        default:
            return with_order<uint64_t>(column.order, use);
    }
}

// flatten: what is not inlined is compiled for the plainest processor only.
GPUJOIN_VECTOR __attribute__((flatten)) void test_key_pairs(const ColumnSource& probe_side,
                                                            const ColumnSource& build_side,
                                                            Comparison comparison, const uint32_t* probe,
                                                            const uint32_t* build, uint32_t pairs,
                                                            uint8_t* keep) {
    with_type(probe_side.spec, [&]<typename T, ValueOrder kOrder>() {
        pairs_of<T, kOrder>(probe_side.values, build_side.values, comparison, probe, build, pairs, keep);
    });
}

GPUJOIN_VECTOR __attribute__((flatten)) void test_key_run(const ColumnSource& probe_side,
                                                          const ColumnSource& build_side,
                                                          Comparison comparison, uint32_t probe,
                                                          uint32_t first, uint32_t rows, uint8_t* keep) {
    with_type(probe_side.spec, [&]<typename T, ValueOrder kOrder>() {
        run_of<T, kOrder>(probe_side.values, build_side.values, comparison, probe, first, rows, keep);
    });
}

bool test_values(const ColumnSpec& column, Comparison comparison, ValueRef probe, ValueRef build) {
    if (comparison == Comparison::Equal) return equal_values(probe, build);
    if (comparison == Comparison::NotEqual) return !equal_values(probe, build);
    return satisfies(comparison, compare_values(column, probe, build));
}

}  // namespace

TermTester::TermTester(const ColumnSource& probe, const ColumnSource& build, Comparison comparison)
    : probe_(probe), build_(build), comparison_(comparison) {
    // Equality is that of bytes, whatever the order: see ValueOrder.
    if (comparison == Comparison::Equal || comparison == Comparison::NotEqual)
        if (order_key_is_exact(probe_.spec)) probe_.spec.order = ValueOrder::Unsigned;
}

void TermTester::test_pairs(const uint32_t* probe, const uint32_t* build, uint32_t pairs,
                            uint8_t* keep) const {
    if (!order_key_is_exact(probe_.spec)) {
        for (uint32_t i = 0; i < pairs; i++)
            keep[i] = keep[i] &&
                      test_values(probe_.spec, comparison_, probe_.value(probe[i]), build_.value(build[i]));
        return;
    }
    test_key_pairs(probe_, build_, comparison_, probe, build, pairs, keep);
}

void TermTester::test_run(uint32_t probe, uint32_t first, uint32_t rows, uint8_t* keep) const {
    if (!order_key_is_exact(probe_.spec)) {
        ValueRef value = probe_.value(probe);
        for (uint32_t i = 0; i < rows; i++)
            keep[i] = keep[i] && test_values(probe_.spec, comparison_, value, build_.value(first + i));
        return;
    }
    test_key_run(probe_, build_, comparison_, probe, first, rows, keep);
}

}  // namespace gpujoin::cpu
