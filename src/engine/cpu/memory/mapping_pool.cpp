// See mapping_pool.h.
#include "engine/cpu/memory/mapping_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "engine/mapping.h"

namespace gpujoin::cpu {

namespace {

// Of one mapping. Larger arrays have so many huge pages (host_array.cpp) that the others do not matter.
constexpr uint64_t kMost = 8 * kHugePage;
constexpr size_t kMostMappings = 1024;

// Address space is not for ever doubled.
constexpr uint64_t kLargestClass = 1u << 30;

// Address space that is kept: where the process is limited, others need it, too.
uint64_t most_address_space() {
    rlimit limit{};
    const bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return std::min<uint64_t>(uint64_t{1} << 40, is_limited ? limit.rlim_cur / 8 : UINT64_MAX);
}

// For AddressSanitizer: whoever still has a pointer into an array that is gone must not use it.
void set_poisoned([[maybe_unused]] const Mapping& mapping, [[maybe_unused]] bool is_poisoned) {
#ifdef __SANITIZE_ADDRESS__
    if (is_poisoned)
        ASAN_POISON_MEMORY_REGION(mapping.start, mapping.usable);
    else
        ASAN_UNPOISON_MEMORY_REGION(mapping.start, mapping.usable);
#endif
}

}  // namespace

void unmap(const Mapping& mapping) {
    unmap_untouched(mapping.start + mapping.usable, mapping.reserved - mapping.usable);
    unmap_memory(mapping.start, mapping.usable);
}

MappingPool::MappingPool() : most_reserved_(most_address_space()) {
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
    reserved_ -= taken.reserved;
    set_poisoned(taken, false);
    return taken;
}

void MappingPool::give(const Mapping& mapping) noexcept {
    std::unique_lock lock(mutex_);
    if (mapping.written == 0 || mapping.usable > kMost || mapping.written > limit_ ||
        mapping.reserved > most_reserved_) {
        lock.unlock();
        unmap(mapping);
        return;
    }
    make_room(mapping);
    spare_.push_back(mapping);
    written_ += mapping.written;
    reserved_ += mapping.reserved;
    set_poisoned(mapping, true);
}

void MappingPool::make_room(const Mapping& mapping) noexcept {
    while (!spare_.empty() && (spare_.size() == kMostMappings || written_ + mapping.written > limit_ ||
                               reserved_ + mapping.reserved > most_reserved_))
        drop_oldest();
}

void MappingPool::set_limit(uint64_t bytes) noexcept {
    std::lock_guard lock(mutex_);
    limit_ = bytes;
    make_room({});
}

void MappingPool::clear() noexcept {
    std::lock_guard lock(mutex_);
    while (!spare_.empty()) drop_oldest();
}

void MappingPool::drop_oldest() noexcept {
    written_ -= spare_.front().written;
    reserved_ -= spare_.front().reserved;
    set_poisoned(spare_.front(), false);
    unmap(spare_.front());
    spare_.erase(spare_.begin());
}

MappingPool& mapping_pool() {
    static MappingPool pool;
    return pool;
}

}  // namespace gpujoin::cpu
