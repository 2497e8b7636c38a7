// What a client has of a session: blocks of shared memory, and the key by which others find it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpujoin {

// A block of the arena that this client may write (input) or read (result).
struct Block {
    uint64_t offset;  // in the arena
    uint64_t bytes;
    std::byte* memory;  // mapped
};

// What other participants (parallel workers) need to join a session; plain bytes for shared memory.
struct SessionKey {
    uint64_t session;
    uint8_t secret[16];
};

}  // namespace gpujoin
