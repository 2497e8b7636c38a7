// Keys made to collide: found by inverting the engines' hash functions (engine/hash.h), so that a table that
// trusts hashes, or the bits that choose a place, gives wrong answers or never ends.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/hash.h"
#include "engine_tables.h"

namespace gpujoin::test {

// The inverse of x ^ (x >> shift), for shifts of a third of the width or more.
template <typename Word>
Word unfold(Word x, uint32_t shift) {
    return x ^ (x >> shift) ^ (shift * 2 < 8 * sizeof x ? x >> shift >> shift : 0);
}

// The inverse of an odd number under multiplication, by Newton's method.
template <typename Word>
Word inverse(Word odd) {
    Word result = odd;
    for (int i = 0; i < 6; i++) result *= 2 - odd * result;
    return result;
}

inline uint64_t unmix(uint64_t x) {
    x = unfold(x, 29) * inverse<uint64_t>(0x9e3779b97f4a7c15u);
    x = unfold(x, 32) * inverse<uint64_t>(0xd6e8feb86659fd93u);
    return unfold(x, 32);
}

inline uint32_t unmix32(uint32_t x) {
    x = unfold(x, 16) * inverse<uint32_t>(0x85ebca6bu);
    x = unfold(x, 15) * inverse<uint32_t>(0x9e3779b1u);
    return unfold(x, 16);
}

// n different keys.
struct CollidingKeys {
    const char* name;
    Column column;
};

inline std::vector<CollidingKeys> colliding_keys(uint32_t n) {
    constexpr uint64_t kHash = 0x123456789abcdef0;
    CollidingKeys low4{"4 bytes, equal low bits", {fixed_column(ColumnType::Fixed4), {}}};
    CollidingKeys high4{"4 bytes, equal high bits", {fixed_column(ColumnType::Fixed4), {}}};
    CollidingKeys low8{"8 bytes, equal low bits", {fixed_column(ColumnType::Fixed8), {}}};
    CollidingKeys high8{"8 bytes, equal high bits", {fixed_column(ColumnType::Fixed8), {}}};
    CollidingKeys all16{"16 bytes, equal hashes", {fixed_column(ColumnType::Fixed16, ValueOrder::Bytes), {}}};
    CollidingKeys texts{"bytes, equal hashes", {bytes_column(), {}}};
    for (uint32_t i = 0; i < n; i++) {
        low4.column.values.push_back(value_of(unmix32(i << 20 | 0x12345)));
        high4.column.values.push_back(value_of(unmix32(0x12345000 | i)));
        low8.column.values.push_back(value_of(unmix(uint64_t{i} << 40 | 0x12345)));
        high8.column.values.push_back(value_of(unmix(kHash << 20 | i)));
        const uint64_t high = i;
        const uint64_t low = unmix(kHash) - mix(high ^ 0xa0761d6478bd642fu);
        all16.column.values.emplace_back(*value_of(low) + *value_of(high));
        // Two words: whatever the first, the second undoes it.
        const uint64_t first = mix(16 * 0x9e3779b97f4a7c15u ^ uint64_t{i});
        texts.column.values.emplace_back(*value_of(uint64_t{i}) + *value_of(first ^ unmix(kHash)));
    }
    return {low4, high4, low8, high8, all16, texts};
}

}  // namespace gpujoin::test
