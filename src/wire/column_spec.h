// ColumnSpec: what the values of a column are: canonical bytes of a fixed width or of any length, and how
// they compare. No SQL types.
#pragma once

#include <cstdint>

namespace gpujoin {

// Fixed widths in bytes, or a string of bytes with offsets.
enum class ColumnType : uint8_t { Fixed1, Fixed2, Fixed4, Fixed8, Fixed16, Bytes };

// How a column's values compare under < <= > >=. Equality always means equal bytes: where Float columns are
// compared for it they are normalised by the sender (one NaN, no -0). Bytes columns compare as memcmp,
// shorter first on a tie. Float orders NaN above infinity.
enum class ValueOrder : uint8_t { Unsigned, Signed, Float, Bytes };

struct ColumnSpec {
    ColumnType type;
    ValueOrder order;
    uint8_t nullable;  // 0: batches never carry a validity bitmap for it
    uint8_t reserved;
};

// Bytes of one value of a fixed type; 0 for Bytes.
constexpr uint32_t fixed_width(ColumnType type) {
    return type == ColumnType::Bytes ? 0u : 1u << static_cast<uint32_t>(type);
}

}  // namespace gpujoin
