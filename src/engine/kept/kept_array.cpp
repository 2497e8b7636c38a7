// See kept_array.h.
#include "engine/kept/kept_array.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/mapping.h"

namespace gpujoin {

namespace {

// To huge pages where hardly more than that would be taken.
uint64_t round_to_pages(uint64_t bytes) {
    const uint64_t huge = round_up(bytes, kHugePage);
    return huge - bytes <= huge / 4 ? huge : round_up(bytes, kPage);
}

}  // namespace

KeptArray::KeptArray(KeptArray&& other) noexcept
    : ledger_(other.ledger_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

KeptArray::~KeptArray() {
    if (memory_) munmap(memory_, capacity_);
    ledger_->release(capacity_);
}

// The kernel moves pages, so that nothing is copied.
bool KeptArray::map(uint64_t capacity) {
    if (memory_) {
        void* memory = mremap(memory_, capacity_, capacity, MREMAP_MAYMOVE);
        if (memory == MAP_FAILED) return false;
        memory_ = static_cast<std::byte*>(memory);
        return true;
    }
    memory_ = map_memory(capacity);
    if (memory_ && capacity % kHugePage == 0) madvise(memory_, capacity, MADV_HUGEPAGE);
    return memory_ != nullptr;
}

bool KeptArray::take(uint64_t capacity) {
    if (!ledger_->charge(capacity - capacity_)) return false;
    const bool is_mapped = map(capacity);
    if (!is_mapped) ledger_->release(capacity - capacity_);
    if (is_mapped) capacity_ = capacity;
    return is_mapped;
}

// An array that grows is where its pages are moved to, which need not be at the start of a huge one.
bool KeptArray::reserve(uint64_t bytes) {
    if (bytes <= capacity_) return true;
    if (!memory_ && take(round_to_pages(bytes))) return true;
    return take(round_up(bytes, kPage));
}

bool KeptArray::grow_to(uint64_t bytes) {
    return bytes <= capacity_ || reserve(std::max(bytes, capacity_ + capacity_ / 2));
}

bool KeptArray::append(const void* bytes, uint64_t count) {
    if (count == 0) return true;
    if (!grow_to(bytes_ + count)) return false;
    memcpy(memory_ + bytes_, bytes, count);
    bytes_ += count;
    return true;
}

bool KeptArray::resize(uint64_t bytes) {
    if (!grow_to(bytes)) return false;
    bytes_ = bytes;
    return true;
}

void KeptArray::shrink() {
    const uint64_t capacity = capacity_ % kHugePage == 0 ? round_to_pages(bytes_) : round_up(bytes_, kPage);
    if (capacity >= capacity_) return;
    if (capacity == 0)
        munmap(std::exchange(memory_, nullptr), capacity_);
    else if (!map(capacity))
        return;
    ledger_->release(capacity_ - capacity);
    capacity_ = capacity;
}

void KeptArray::swap(KeptArray& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(capacity_, other.capacity_);
}

}  // namespace gpujoin
