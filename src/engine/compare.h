// Comparison of values under a column's ValueOrder. Values of up to 8 bytes map to 64-bit *order keys* that
// compare as unsigned integers; longer ones have an order key made of their first bytes, which may tie for
// different values (order_key_is_exact) and never contradicts the order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/host_device.h"
#include "engine/key_layout.h"
#include "wire/join_spec.h"

namespace gpujoin {

// A value in memory: bytes is its width, or the length of a Bytes value.
struct ValueRef {
    const std::byte* data;
    uint64_t bytes;
};

// Maps the bits of a float (bits = 32) or double (64) to an integer of the same order: NaN above infinity,
// -0 equal to +0.
GPUJOIN_HD inline uint64_t float_order_key(uint64_t bits, uint32_t width_bits) {
    uint64_t sign = uint64_t{1} << (width_bits - 1);
    uint64_t infinity = width_bits == 32 ? 0x7f800000u : 0x7ff0000000000000u;
    if ((bits & ~sign) > infinity) return sign | (sign - 1);
    if ((bits & ~sign) == 0) return sign;
    return bits & sign ? (sign | (sign - 1)) & ~bits : bits | sign;
}

// The first 8 bytes, most significant first; shorter values are padded with zeros.
GPUJOIN_HD inline uint64_t bytes_order_key(const std::byte* data, uint64_t bytes) {
    uint64_t key = 0;
    for (uint32_t i = 0; i < 8; i++) {
        key = key << 8 | (i < bytes ? static_cast<uint64_t>(data[i]) : 0);
    }
    return key;
}

// Two columns with equal order keys have equal values.
GPUJOIN_HD inline bool order_key_is_exact(const ColumnSpec& column) {
    return column.type != ColumnType::Bytes && column.type != ColumnType::Fixed16;
}

GPUJOIN_HD inline uint64_t order_key(const ColumnSpec& column, ValueRef value) {
    if (column.type == ColumnType::Bytes || column.order == ValueOrder::Bytes) {
        uint64_t key = bytes_order_key(value.data, value.bytes);
        return column.type == ColumnType::Bytes || value.bytes >= 8 ? key : key >> (8 * (8 - value.bytes));
    }
    uint32_t width = static_cast<uint32_t>(value.bytes);
    // A 16-byte integer is little-endian: its upper half comes first in the order.
    uint64_t bits = width == 16 ? load_unsigned(value.data + 8, 8) : load_unsigned(value.data, width);
    uint32_t width_bits = width == 16 ? 64 : 8 * width;
    if (column.order == ValueOrder::Signed) return bits ^ uint64_t { 1 } << (width_bits - 1);
    if (column.order == ValueOrder::Float) return float_order_key(bits, width_bits);
    return bits;
}

// As memcmp; the shorter first on a tie. Negative, 0 or positive.
GPUJOIN_HD inline int compare_bytes(ValueRef a, ValueRef b) {
    uint64_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
#ifdef __CUDA_ARCH__
    for (uint64_t i = 0; i < common; i++) {
        if (a.data[i] != b.data[i]) return a.data[i] < b.data[i] ? -1 : 1;
    }
#else
    if (common > 0) {
        if (int order = __builtin_memcmp(a.data, b.data, common)) return order;
    }
#endif
    return a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

// Negative, 0 or positive as a sorts before, with or after b. Both are of `column`'s type and order.
GPUJOIN_HD inline int compare_values(const ColumnSpec& column, ValueRef a, ValueRef b) {
    if (column.type == ColumnType::Bytes || column.order == ValueOrder::Bytes) return compare_bytes(a, b);
    uint64_t x = order_key(column, a);
    uint64_t y = order_key(column, b);
    if (x == y && column.type == ColumnType::Fixed16) {
        x = load_unsigned(a.data, 8);
        y = load_unsigned(b.data, 8);
    }
    return x < y ? -1 : x > y;
}

// Equal bytes: what Equal means for keys.
GPUJOIN_HD inline bool equal_values(ValueRef a, ValueRef b) {
    return a.bytes == b.bytes && compare_bytes(a, b) == 0;
}

// Whether "probe <comparison> build" holds when probe compares to build as `order` says.
GPUJOIN_HD inline bool satisfies(Comparison comparison, int order) {
    switch (comparison) {
        case Comparison::Equal:
            return order == 0;
        case Comparison::NotEqual:
            return order != 0;
        case Comparison::Less:
            return order < 0;
        case Comparison::LessEqual:
            return order <= 0;
        case Comparison::Greater:
            return order > 0;
        default:
            return order >= 0;
    }
}

}  // namespace gpujoin
