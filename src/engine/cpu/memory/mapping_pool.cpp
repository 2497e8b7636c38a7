// See mapping_pool.h.
#include "engine/cpu/memory/mapping_pool.h"

#include <algorithm>
#include <bit>

#include "engine/mapping.h"

namespace gpujoin::cpu {

namespace {

// Of one mapping. Larger arrays have so many huge pages (host_array.cpp) that the others do not matter.
constexpr uint64_t kMost = 8 * kHugePage;
constexpr size_t kMostMappings = 1024;

// Address space is not for ever doubled.
constexpr uint64_t kLargestClass = 1u << 30;

}  // namespace

void unmap(const Mapping& mapping) {
    unmap_untouched(mapping.start + mapping.usable, mapping.reserved - mapping.usable);
    unmap_memory(mapping.start, mapping.usable);
}

MappingPool::MappingPool() {
    spare_.reserve(kMostMappings);
}

uint64_t MappingPool::size_class(uint64_t bytes) {
    return bytes <= kLargestClass ? std::bit_ceil(std::max(bytes, kPage)) : round_up(bytes, kPage);
}

Mapping MappingPool::take(uint64_t reserved) noexcept {
    std::lock_guard lock(mutex_);
    auto fits = [&](const Mapping& mapping) { return mapping.reserved == reserved; };
    const auto found = std::find_if(spare_.rbegin(), spare_.rend(), fits);
    if (found == spare_.rend()) return {};
    const Mapping taken = *found;
    spare_.erase(std::next(found).base());
    written_ -= taken.written;
    return taken;
}

void MappingPool::give(const Mapping& mapping) noexcept {
    std::unique_lock lock(mutex_);
    if (mapping.written == 0 || mapping.usable > kMost || mapping.written > limit_) {
        lock.unlock();
        unmap(mapping);
        return;
    }
    make_room(mapping.written);
    spare_.push_back(mapping);
    written_ += mapping.written;
}

void MappingPool::make_room(uint64_t bytes) noexcept {
    while (!spare_.empty() && (spare_.size() == kMostMappings || written_ + bytes > limit_)) drop_oldest();
}

void MappingPool::set_limit(uint64_t bytes) noexcept {
    std::lock_guard lock(mutex_);
    limit_ = bytes;
    make_room(0);
}

void MappingPool::clear() noexcept {
    std::lock_guard lock(mutex_);
    while (!spare_.empty()) drop_oldest();
}

void MappingPool::drop_oldest() noexcept {
    written_ -= spare_.front().written;
    unmap(spare_.front());
    spare_.erase(spare_.begin());
}

MappingPool& mapping_pool() {
    static MappingPool pool;
    return pool;
}

}  // namespace gpujoin::cpu
