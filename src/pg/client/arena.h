// Arena: the server's shared memory, as this process has mapped it. One mapping serves all clients of the
// process and is kept from join to join, so that its page faults are paid once. It is dropped when the
// session has not joined for a second, and that of a server that is gone, once no client uses it any more,
// when the next server's arena is mapped.
#pragma once

#include <cstddef>

#include "wire/message.h"
#include "wire/status.h"

#include "pg/compat.h"

namespace gpujoin {

struct Arena {
    uint64 id;
    uint64 bytes;
    std::byte* memory;  // nullptr: dropped
    int clients;
    Arena* next;
};

// The id of the arena that was mapped last, 0 for none: what a Hello says. It stays until the transaction
// ends.
uint64 mapped_arena();

// The arena that a Welcome names: the one already mapped, or a new mapping of `descriptor`, which is closed
// in any case (-1: none was sent). Counts a client of it. Null, with the reason in *why, when it cannot be
// had.
Arena* acquire_arena(const WelcomeBody& welcome, int descriptor, Status* why);
void release_arena(Arena* arena);

// Does a range lie inside the arena, starting where buffers may?
bool is_inside(const Arena* arena, const BlockRange& range);

}  // namespace gpujoin
