// Reading of limits.
#include "server/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "server/control_groups.h"

namespace gpujoin {

namespace {

constexpr uint64_t kLeastHostMemory = 16u << 20;

// Anything but a number, such as "max", is no limit.
uint64_t read_limit(const std::string& path) {
    uint64_t limit;
    return std::ifstream(path) >> limit ? limit : kNoLimit;
}

uint64_t limit_of(const ControlGroup& group) {
    if (!group.is_version_2) return read_limit(group.folder + "/memory.limit_in_bytes");
    return std::min(read_limit(group.folder + "/memory.max"), read_limit(group.folder + "/memory.high"));
}

uint64_t memory_beside(uint64_t shared_buffers, const std::string& root) {
    uint64_t limit = memory_limit(root);
    return limit - std::min(limit, shared_buffers);
}

}  // namespace

uint64_t memory_limit(const std::string& root) {
    uint64_t limit =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    for (const ControlGroup& group : control_groups("memory", root)) limit = std::min(limit, limit_of(group));
    return limit;
}

uint64_t default_host_memory(uint64_t shared_buffers, const std::string& root) {
    return std::max(memory_beside(shared_buffers, root) / 2, kLeastHostMemory);
}

uint64_t default_keep_memory(uint64_t shared_buffers, const std::string& root) {
    return memory_beside(shared_buffers, root) / 8;
}

uint64_t reserve_beside(uint64_t host_memory) {
    return std::max<uint64_t>(host_memory / 16, 64u << 20);
}

uint64_t spare_beside(uint64_t host_memory) {
    return std::min<uint64_t>(host_memory / 32, 256u << 20);
}

}  // namespace gpujoin
