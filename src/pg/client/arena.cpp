// Mapping of arenas.
#include "pg/client/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "utils/memutils.h"
}

namespace gpujoin {

namespace {

// The newest first; older ones only while clients use them.
Arena* arenas = nullptr;

void unmap_unused(Arena* keep) {
    for (Arena** link = &arenas; *link;) {
        Arena* arena = *link;
        if (arena == keep || arena->clients > 0) {
            link = &arena->next;
            continue;
        }
        munmap(arena->memory, arena->bytes);
        *link = arena->next;
        pfree(arena);
    }
}

// A memory file that the server cannot shrink under us: reading the mapping can never raise SIGBUS.
bool is_sealed_file(int descriptor, uint64 bytes) {
    struct stat file;
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(descriptor, &file) == 0 && bytes > 0 &&
           static_cast<uint64>(file.st_size) >= bytes;
}

Arena* map_arena(const WelcomeBody& welcome, int descriptor, Status* why) {
    if (descriptor < 0 || welcome.arena == 0 || !is_sealed_file(descriptor, welcome.arena_bytes)) {
        *why = failure(Fault::Protocol, "58000", "malformed message from the gpujoin server")
                   .with_detail("It did not send its shared memory.");
        return nullptr;
    }
    auto* arena = static_cast<Arena*>(MemoryContextAlloc(TopMemoryContext, sizeof(Arena)));
    void* memory =
        mmap(nullptr, welcome.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (memory == MAP_FAILED) {
        *why =
            failure(Fault::HostMemory, "53200", "could not map the shared memory of the gpujoin server: %m");
        pfree(arena);
        return nullptr;
    }
    *arena = Arena{welcome.arena, welcome.arena_bytes, static_cast<std::byte*>(memory), 0, arenas};
    arenas = arena;
    return arena;
}

}  // namespace

uint64 mapped_arena() {
    return arenas ? arenas->id : 0;
}

Arena* acquire_arena(const WelcomeBody& welcome, int descriptor, Status* why) {
    Arena* arena = arenas;
    if (!arena || arena->id != welcome.arena || arena->bytes != welcome.arena_bytes)
        arena = map_arena(welcome, descriptor, why);
    if (descriptor >= 0) close(descriptor);
    if (!arena) return nullptr;
    unmap_unused(arena);
    arena->clients++;
    return arena;
}

void release_arena(Arena* arena) {
    arena->clients--;
}

bool is_inside(const Arena* arena, const BlockRange& range) {
    return range.offset % kBufferAlignment == 0 && range.offset <= arena->bytes &&
           range.bytes <= arena->bytes - range.offset;
}

}  // namespace gpujoin
