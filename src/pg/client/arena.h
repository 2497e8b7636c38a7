// Arena: the server's shared memory, as this process has mapped it. One mapping serves all clients of the
// process and is kept for the process's life, so that its page faults are paid once; the mapping of a server
// that is gone is dropped when the next server's arena is mapped and no client uses the old one any more.
#pragma once

#include <cstddef>

#include "wire/message.h"
#include "wire/status.h"

#include "pg/compat.h"

namespace gpujoin {

struct Arena {
    uint64 id;
    uint64 bytes;
    std::byte* memory;
    int clients;
    Arena* next;
};

// The id of the arena that was mapped last, 0 for none: what a Hello says.
uint64 mapped_arena();

// The arena that a Welcome names: the one already mapped, or a new mapping of `descriptor`, which is closed
// in any case (-1: none was sent). Counts a client of it. Null, with the reason in *why, when it cannot be
// had.
Arena* acquire_arena(const WelcomeBody& welcome, int descriptor, Status* why);
void release_arena(Arena* arena);

// Does a range lie inside the arena, starting where buffers may?
bool is_inside(const Arena* arena, const BlockRange& range);

}  // namespace gpujoin
