// Hash functions of both engines. Keys of up to 8 bytes are mixed by a bijection of 64 bits, so that
// different keys never share a hash; every bit of the result depends on every bit of the key, and users may
// take whichever bits they like (the highest are the best).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/host_device.h"
#include "engine/key_layout.h"

namespace gpujoin {

// Multiply and fold, twice: a bijection of 64 bits.
GPUJOIN_HD inline uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

// The same for 32 bits: a bijection whose lowest bits are good too.
GPUJOIN_HD inline uint32_t mix32(uint32_t x) {
    x ^= x >> 16;
    x *= 0x9e3779b1u;
    x ^= x >> 15;
    x *= 0x85ebca6bu;
    return x ^ (x >> 16);
}

GPUJOIN_HD inline uint64_t hash_key(uint32_t key) {
    return mix(key);
}
GPUJOIN_HD inline uint64_t hash_key(uint64_t key) {
    return mix(key);
}
GPUJOIN_HD inline uint64_t hash_key(const Key16& key) {
    return mix(key.low + mix(key.high ^ 0xa0761d6478bd642fu));
}

// Adds one more value's hash to that of the columns before it; order matters.
GPUJOIN_HD inline uint64_t combine_hashes(uint64_t before, uint64_t next) {
    return mix(before * 0xff51afd7ed558ccdu + next);
}

// Hash of a string of bytes at any address.
GPUJOIN_HD inline uint64_t hash_bytes(const std::byte* data, uint64_t bytes) {
    uint64_t hash = bytes * 0x9e3779b97f4a7c15u;
    uint64_t word = 0;
    uint64_t i = 0;
#ifndef __CUDA_ARCH__
    for (; i + 8 <= bytes; i += 8) {
        __builtin_memcpy(&word, data + i, 8);
        hash = mix(hash ^ word);
    }
    word = 0;
#endif
    for (uint32_t shift = 0; i < bytes; i++) {
        word |= static_cast<uint64_t>(data[i]) << shift;
        if ((shift += 8) == 64) {
            hash = mix(hash ^ word);
            word = 0;
            shift = 0;
        }
    }
    return mix(hash ^ word ^ 0xe7037ed1a0b428dbu);
}

// Hash of one fixed value in a key that is hashed, not packed.
GPUJOIN_HD inline uint64_t hash_fixed(const std::byte* value, uint32_t width) {
    return width == 16 ? hash_key(load_key16(value)) : mix(load_unsigned(value, width));
}

}  // namespace gpujoin
