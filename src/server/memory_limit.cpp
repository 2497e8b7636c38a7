// Reading of limits. A container may see its own control group as the root, or by its path from the host's:
// folders that are not there are passed over on the way up.
#include "server/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace gpujoin {

namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kLeastHostMemory = 16u << 20;

// Anything but a number, such as "max", is no limit.
uint64_t read_limit(const std::string& path) {
    uint64_t limit;
    return std::ifstream(path) >> limit ? limit : kUnlimited;
}

uint64_t least_limit(const std::string& hierarchy, std::string group,
                     std::initializer_list<const char*> files) {
    uint64_t least = kUnlimited;
    for (;;) {
        for (const char* file : files) least = std::min(least, read_limit(hierarchy + group + "/" + file));
        if (group.empty()) return least;
        group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
}

// A line of /proc/self/cgroup: "number:controllers:path"; of version 2 "0::path".
uint64_t limit_of(const std::string& root, const std::string& line) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) return kUnlimited;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (controllers == ",,")
        return least_limit(root + "/sys/fs/cgroup", group, {"memory.max", "memory.high"});
    if (controllers.find(",memory,") == std::string::npos) return kUnlimited;
    return least_limit(root + "/sys/fs/cgroup/memory", group, {"memory.limit_in_bytes"});
}

uint64_t memory_beside(uint64_t shared_buffers, const std::string& root) {
    uint64_t limit = memory_limit(root);
    return limit - std::min(limit, shared_buffers);
}

}  // namespace

uint64_t memory_limit(const std::string& root) {
    uint64_t limit =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) limit = std::min(limit, limit_of(root, line));
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

}  // namespace gpujoin
