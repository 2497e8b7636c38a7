// Text words: a value of any length as one word, which tells all of a value of up to 7 bytes, as flags, codes
// and names of categories are: so these are compared like numbers. Words of longer values are hashes: where
// they are equal, the values must still be compared.
#pragma once

#include "engine/compare.h"
#include "engine/hash.h"

namespace gpujoin {

// The highest byte is the length of a short value, or one of these.
constexpr uint64_t kTextIsNull = uint64_t{0xfe} << 56;
constexpr uint64_t kTextIsLong = uint64_t{0xff} << 56;
constexpr uint64_t kMostBytesOfShortText = 7;

inline bool is_long_text(uint64_t word) {
    return word >= kTextIsLong;
}

// Of a value that is not NULL. end: of the memory that may be read.
inline uint64_t text_word(const ValueRef& value, const std::byte* end) {
    const uint64_t bytes = value.bytes;
    if (bytes > kMostBytesOfShortText) return kTextIsLong | hash_bytes(value.data, bytes) >> 8;
    uint64_t word = 0;
    if (end - value.data >= int64_t{sizeof word}) {
        __builtin_memcpy(&word, value.data, sizeof word);
        word &= (uint64_t{1} << (8 * bytes)) - 1;
    } else if (bytes > 0) {
        __builtin_memcpy(&word, value.data, bytes);
    }
    return word | bytes << 56;
}

}  // namespace gpujoin
