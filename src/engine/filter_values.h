// The arithmetic of filter programs on one pair of values, with PostgreSQL's idea of when it fails. Floats
// are carried as the bits of doubles, so that every value is 64 bits wide.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "engine/host_device.h"
#include "wire/filter_program.h"

namespace gpujoin {

GPUJOIN_HD GPUJOIN_INLINE double as_double(int64_t bits) {
    return std::bit_cast<double>(bits);
}
GPUJOIN_HD GPUJOIN_INLINE int64_t as_bits(double number) {
    return std::bit_cast<int64_t>(number);
}

// The values of an integer type: from `low` on, `span` more.
struct IntegerBounds {
    int64_t low;
    uint64_t span;

    GPUJOIN_HD GPUJOIN_INLINE bool exclude(int64_t value) const {
        return static_cast<uint64_t>(value) - static_cast<uint64_t>(low) > span;
    }
};

GPUJOIN_HD inline IntegerBounds integer_bounds(FilterType type) {
    switch (type) {
        case FilterType::Int16:
            return {-(int64_t{1} << 15), (uint64_t{1} << 16) - 1};
        case FilterType::Int32:
            return {-(int64_t{1} << 31), (uint64_t{1} << 32) - 1};
        case FilterType::Date:  // 4714-11-24 BC to 5874897-12-31, in days from 2000-01-01
            return {-2451545, uint64_t{2451545} + 2145031948};
        case FilterType::Decimal:
            return {-999999999999999999, uint64_t{2} * 999999999999999999};
        case FilterType::Timestamp:  // 4714-11-24 BC to 294276-12-31, in microseconds
            return {-211813488000000000, uint64_t{211813488000000000} + 9223371331199999999};
        default:
            return {std::numeric_limits<int64_t>::min(), ~uint64_t{0}};
    }
}

GPUJOIN_HD GPUJOIN_INLINE int64_t add_integers(int64_t a, int64_t b, IntegerBounds bounds, bool* fails) {
    auto sum = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    *fails = (((a ^ sum) & (b ^ sum)) < 0) | bounds.exclude(sum);
    return sum;
}

GPUJOIN_HD GPUJOIN_INLINE int64_t subtract_integers(int64_t a, int64_t b, IntegerBounds bounds, bool* fails) {
    auto difference = static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    *fails = (((a ^ b) & (a ^ difference)) < 0) | bounds.exclude(difference);
    return difference;
}

GPUJOIN_HD GPUJOIN_INLINE int64_t multiply_integers(int64_t a, int64_t b, IntegerBounds bounds, bool* fails) {
#ifdef __CUDA_ARCH__
    auto product = static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    bool overflows = __mul64hi(a, b) != product >> 63;
#else
    int64_t product;
    bool overflows = __builtin_mul_overflow(a, b, &product);
#endif
    *fails = overflows | bounds.exclude(product);
    return product;
}

// The hardware's division knows neither 0 nor the one quotient that overflows.
GPUJOIN_HD GPUJOIN_INLINE int64_t divide_integers(int64_t a, int64_t b, IntegerBounds bounds, bool* fails) {
    if (b == -1) return subtract_integers(0, a, bounds, fails);
    int64_t quotient = a / (b == 0 ? 1 : b);
    *fails = (b == 0) | bounds.exclude(quotient);
    return quotient;
}

GPUJOIN_HD GPUJOIN_INLINE int64_t remainder_of_integers(int64_t a, int64_t b, bool* fails) {
    bool is_simple = b == 0 || b == -1;
    *fails = b == 0;
    return is_simple ? 0 : a % (is_simple ? 1 : b);
}

// Only of a type's lowest value is there no negative.
GPUJOIN_HD GPUJOIN_INLINE int64_t negate_integer(int64_t a, IntegerBounds bounds, bool* fails) {
    return subtract_integers(0, a, bounds, fails);
}
GPUJOIN_HD GPUJOIN_INLINE int64_t absolute_integer(int64_t a, IntegerBounds bounds, bool* fails) {
    const auto sign = static_cast<uint64_t>(a >> 63);
    auto size = static_cast<int64_t>((static_cast<uint64_t>(a) ^ sign) - sign);
    *fails = (size < 0) | bounds.exclude(size);
    return size;
}

GPUJOIN_HD GPUJOIN_INLINE int64_t check_integer(int64_t a, IntegerBounds bounds, bool* fails) {
    *fails = bounds.exclude(a);
    return a;
}

template <typename Float>
GPUJOIN_HD GPUJOIN_INLINE bool is_infinite(Float number) {
    return (number == std::numeric_limits<Float>::infinity()) |
           (number == -std::numeric_limits<Float>::infinity());
}

template <typename Float>
GPUJOIN_HD GPUJOIN_INLINE int64_t add_floats(Float a, Float b, bool* fails) {
    Float sum = a + b;
    *fails = is_infinite(sum) & !is_infinite(a) & !is_infinite(b);
    return as_bits(sum);
}

template <typename Float>
GPUJOIN_HD GPUJOIN_INLINE int64_t multiply_floats(Float a, Float b, bool* fails) {
    Float product = a * b;
    bool overflows = is_infinite(product) & !is_infinite(a) & !is_infinite(b);
    *fails = overflows | ((product == 0) & (a != 0) & (b != 0));
    return as_bits(product);
}

template <typename Float>
GPUJOIN_HD GPUJOIN_INLINE int64_t divide_floats(Float a, Float b, bool* fails) {
    Float quotient = a / b;
    bool underflows = (quotient == 0) & (a != 0) & !is_infinite(b);
    *fails = ((b == 0) & (a == a)) | (is_infinite(quotient) & !is_infinite(a)) | underflows;
    return as_bits(quotient);
}

// The total order of floats: NaN equals NaN and is greater than all others.
GPUJOIN_HD GPUJOIN_INLINE bool floats_equal(double a, double b) {
    return (a == b) | ((a != a) & (b != b));
}
// The integer that an interval of kept floats has for a float (wire/kept.h).
GPUJOIN_HD GPUJOIN_INLINE int64_t kept_order(double number) {
    if (number != number) return std::numeric_limits<int64_t>::max();
    const int64_t bits = as_bits(number + 0.0);
    return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}
GPUJOIN_HD GPUJOIN_INLINE bool floats_less(double a, double b) {
    return (a < b) | ((a == a) & (b != b));
}

}  // namespace gpujoin
