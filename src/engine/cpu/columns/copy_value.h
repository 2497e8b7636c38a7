// Copying values of any length. Most are short, and how long each is cannot be foreseen: so a short one is
// copied without a branch that depends on its length, with what lies behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpujoin::cpu {

constexpr int64_t kCopiedAtOnce = 16;  // bytes

// readable, writable: bytes from there on that may be, not only the value's. What is behind it in `to` may be
// overwritten.
inline void copy_value(const std::byte* from, uint64_t length, int64_t readable, int64_t writable,
                       std::byte* to) {
    if (length <= kCopiedAtOnce && readable >= kCopiedAtOnce && writable >= kCopiedAtOnce)
        std::memcpy(to, from, kCopiedAtOnce);
    else if (length > 0)
        std::memcpy(to, from, length);
}

}  // namespace gpujoin::cpu
