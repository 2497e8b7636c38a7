// Memory that is mapped from the system: whole pages, and where there is enough of it at the start of a huge
// one, which the kernel provides in less time than the small ones of as much memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpujoin {

inline constexpr uint64_t kPage = 4096;
inline constexpr uint64_t kHugePage = 2u << 20;

constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// So many bytes, whole pages, of zeroes; or address space only, which mprotect() makes usable. Aligned to
// huge pages from one of them on: older kernels place mappings at any page. nullptr: there is none.
std::byte* map_memory(uint64_t bytes);
std::byte* map_address_space(uint64_t bytes);

// The whole or a part of a mapping, of which nothing was ever usable or something was.
void unmap_untouched(std::byte* start, uint64_t bytes);
void unmap_memory(std::byte* start, uint64_t bytes);

}  // namespace gpujoin
