// Values of kept columns as the integers that tests compare them as.
#pragma once

#include <concepts>
#include <cstdint>

#include "engine/filter_values.h"
#include "wire/column_spec.h"

namespace gpujoin {

inline bool has_integers(const ColumnSpec& spec) {
    return spec.type <= ColumnType::Fixed8 && spec.order <= ValueOrder::Signed;
}
inline bool has_numbers(const ColumnSpec& spec) {
    return spec.type <= ColumnType::Fixed8 && spec.order <= ValueOrder::Float;
}

// Calls visit with a value of the type that a fixed column's values are read as.
template <typename Visit>
void with_integer(const ColumnSpec& spec, const Visit& visit) {
    const bool is_signed = spec.order == ValueOrder::Signed;
    switch (spec.type) {
        case ColumnType::Fixed1:
            return is_signed ? visit(int8_t{}) : visit(uint8_t{});
        case ColumnType::Fixed2:
            return is_signed ? visit(int16_t{}) : visit(uint16_t{});
        case ColumnType::Fixed4:
            return is_signed ? visit(int32_t{}) : visit(uint32_t{});
        default:
            return visit(int64_t{});
    }
}

// The same, where the column has numbers, floats among them.
template <typename Visit>
void with_number(const ColumnSpec& spec, const Visit& visit) {
    if (spec.order != ValueOrder::Float) return with_integer(spec, visit);
    spec.type == ColumnType::Fixed4 ? visit(float{}) : visit(double{});
}

// Integers of the same order.
template <std::integral Integer>
int64_t in_order(Integer integer) {
    return static_cast<int64_t>(integer);
}
inline int64_t in_order(float number) {
    return kept_order(double{number});
}
inline int64_t in_order(double number) {
    return kept_order(number);
}

}  // namespace gpujoin
