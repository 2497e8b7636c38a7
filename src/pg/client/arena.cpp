// Mapping of arenas. A mapping keeps the pages of a dead server's arena, which may be what the machine lacks.
// An idle session does not hear of a server's death; so a mapping that no client uses is dropped a second
// after the end of the last transaction that used it, by a timeout: sessions that join again and again keep
// theirs, and pay for its page faults once. The timeout is a signal handler and may interrupt anything, so
// all that it does is to unmap, and not from where a transaction begins to use a mapping until its end.
#include "pg/client/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pg/allocate.h"

extern "C" {
#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
}

namespace gpujoin {

namespace {

constexpr int kIdleMs = 1000;

// The newest first; older ones only while clients use them.
Arena* arenas = nullptr;
volatile sig_atomic_t is_in_use = false;  // since the transaction said which arena it has
TimeoutId idle_timeout;
bool is_timeout_registered = false;

uint64 mapped_arena_id() {
    return arenas && arenas->memory ? arenas->id : 0;
}

// A signal handler.
void unmap_idle() {
    if (is_in_use) return;
    for (Arena* arena = arenas; arena; arena = arena->next) {
        if (arena->clients > 0 || !arena->memory) continue;
        munmap(arena->memory, arena->bytes);
        arena->memory = nullptr;
    }
}

// Errors stop all timeouts: this one is started again at the end of a transaction that did not use the arena.
void on_transaction_end(XactEvent event, void*) {
    bool is_end = event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE;
    if (!is_end || mapped_arena_id() == 0) return;
    if (is_in_use || !get_timeout_active(idle_timeout)) enable_timeout_after(idle_timeout, kIdleMs);
    is_in_use = false;
}

void register_timeout() {
    if (is_timeout_registered) return;
    idle_timeout = RegisterTimeout(USER_TIMEOUT, unmap_idle);
    RegisterXactCallback(on_transaction_end, nullptr);
    is_timeout_registered = true;
}

void unmap_unused(Arena* keep) {
    for (Arena** link = &arenas; *link;) {
        Arena* arena = *link;
        if (arena == keep || arena->clients > 0) {
            link = &arena->next;
            continue;
        }
        if (arena->memory) munmap(arena->memory, arena->bytes);
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
    register_timeout();
    auto* arena = unset_in<Arena>(TopMemoryContext);
    void* memory =
        mmap(nullptr, welcome.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (memory == MAP_FAILED) {
        *why =
            failure(Fault::HostMemory, "53200", "could not map the shared memory of the gpujoin server: %m");
        pfree(arena);
        return nullptr;
    }
    madvise(memory, welcome.arena_bytes, MADV_DONTDUMP);  // a core file would hold all of it, touched or not
    *arena = Arena{welcome.arena, welcome.arena_bytes, static_cast<std::byte*>(memory), 0, arenas};
    arenas = arena;
    return arena;
}

}  // namespace

uint64 mapped_arena() {
    is_in_use = true;
    pg_compiler_barrier();  // from here on the timeout unmaps nothing
    return mapped_arena_id();
}

Arena* acquire_arena(const WelcomeBody& welcome, int descriptor, Status* why) {
    Arena* arena = arenas;
    if (!arena || !arena->memory || arena->id != welcome.arena || arena->bytes != welcome.arena_bytes)
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
