// See mapping.h.
#include "engine/mapping.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpujoin {

namespace {

std::byte* map_aligned(uint64_t bytes, int protection, int flags) {
    const uint64_t slack = bytes >= kHugePage ? kHugePage - kPage : 0;
    void* memory = mmap(nullptr, bytes + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* start = static_cast<std::byte*>(memory);
    const auto address = reinterpret_cast<uintptr_t>(start);
    const uint64_t skip = slack > 0 ? round_up(address, kHugePage) - address : 0;
    unmap_untouched(start, skip);
    unmap_untouched(start + skip + bytes, slack - skip);
    return start + skip;
}

}  // namespace

std::byte* map_memory(uint64_t bytes) {
    return map_aligned(bytes, PROT_READ | PROT_WRITE, 0);
}

std::byte* map_address_space(uint64_t bytes) {
    return map_aligned(bytes, PROT_NONE, MAP_NORESERVE);
}

// ThreadSanitizer goes through all that munmap() gives back, which takes it longer than most joins of tests
// take, and need not know of this.
void unmap_untouched(std::byte* start, uint64_t bytes) {
    if (bytes == 0) return;
#ifdef __SANITIZE_THREAD__
    syscall(SYS_munmap, start, bytes);
#else
    munmap(start, bytes);
#endif
}

void unmap_memory(std::byte* start, uint64_t bytes) {
    if (bytes > 0) munmap(start, bytes);
}

}  // namespace gpujoin
