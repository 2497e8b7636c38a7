// See kept_values.h.
#include "engine/kept/kept_values.h"

#include <cstring>
#include <type_traits>

namespace gpujoin {

namespace {

// Rows that lie one behind the other are read some at once: so many that the compiler need not ask how many.
constexpr uint32_t kAtOnce = 16;

struct Wide {
    uint64_t half[2];
};

// Calls visit with a value of a type as wide.
template <typename Visit>
void with_width(ColumnType type, const Visit& visit) {
    switch (type) {
        case ColumnType::Fixed1:
            return visit(uint8_t{});
        case ColumnType::Fixed2:
            return visit(uint16_t{});
        case ColumnType::Fixed4:
            return visit(uint32_t{});
        case ColumnType::Fixed8:
            return visit(uint64_t{});
        default:
            return visit(Wide{});
    }
}

void copy_values(const KeptValues& values, const uint32_t* rows, uint32_t count, bool is_run, std::byte* to) {
    with_width(values.stored.type, [&](auto value) {
        const auto* from = values.values.as<decltype(value)>();
        auto* into = reinterpret_cast<decltype(value)*>(to);
        if (is_run) {
            memcpy(to, from + rows[0], uint64_t{count} * sizeof value);
            return;
        }
        for (uint32_t i = 0; i < count; i++) into[i] = from[rows[i]];
    });
}

template <typename Value, typename Stored>
void decode(const Stored& stored, uint64_t base, const uint32_t* rows, uint32_t count, bool is_run,
            Value* to) {
    auto value_of = [&](uint32_t row) {
        return static_cast<Value>(base + static_cast<uint64_t>(stored(row)));
    };
    uint32_t i = 0;
    if (is_run)
        for (const uint32_t first = rows[0]; i + kAtOnce <= count; i += kAtOnce)
            for (uint32_t k = 0; k < kAtOnce; k++) to[i + k] = value_of(first + i + k);
    for (; i < count; i++) to[i] = value_of(rows[i]);
}

}  // namespace

void gather_fixed(const KeptValues& values, ColumnType wanted, const uint32_t* rows, uint32_t count,
                  bool is_run, std::byte* to) {
    if (values.compression == KeptCompression::Plain && values.stored.type == wanted)
        return copy_values(values, rows, count, is_run, to);
    with_stored(values, [&](auto stored) {
        with_width(wanted, [&](auto value) {
            using Value = decltype(value);
            if constexpr (std::is_integral_v<Value>)
                decode(stored, static_cast<uint64_t>(values.base), rows, count, is_run,
                       reinterpret_cast<Value*>(to));
        });
    });
}

}  // namespace gpujoin
