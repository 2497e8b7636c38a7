// MappingPool: mappings of arrays that are gone, for those to come. The kernel provides a page when it is
// first touched: in a virtual machine that takes longer than most joins take over a page of rows. Large
// arrays get huge pages, which cost no more than to clear a used one, and are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gpujoin::cpu {

struct Mapping {
    std::byte* start = nullptr;
    uint64_t reserved = 0;  // address space
    uint64_t usable = 0;    // accessible
    uint64_t written = 0;   // behind that it is zero
};

// Gives all of it back to the system.
void unmap(const Mapping& mapping);

// Thread-safe.
class MappingPool {
  public:
    MappingPool();
    ~MappingPool() { clear(); }
    MappingPool(const MappingPool&) = delete;
    MappingPool& operator=(const MappingPool&) = delete;

    // How much address space to reserve where so much is wanted, so that arrays of about the same size can
    // have each other's.
    static uint64_t size_class(uint64_t bytes);

    // One of exactly that much address space; none: its start is nullptr.
    Mapping take(uint64_t reserved) noexcept;
    // Keeps it, rather than older ones, or unmaps it.
    void give(const Mapping& mapping) noexcept;
    void clear() noexcept;
    // What it may keep, in bytes that have been written.
    void set_limit(uint64_t bytes) noexcept;

  private:
    void make_room(const Mapping& mapping) noexcept;
    void drop_oldest() noexcept;

    std::mutex mutex_;
    std::vector<Mapping> spare_;  // the oldest first
    uint64_t written_ = 0;        // of all of them
    uint64_t reserved_ = 0;       // address space of all of them
    uint64_t limit_ = 64u << 20;
    const uint64_t most_reserved_;
};

// That of all joins.
MappingPool& mapping_pool();

}  // namespace gpujoin::cpu
