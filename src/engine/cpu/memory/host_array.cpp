// Memory of the CPU engine, from mmap: untouched pages cost nothing, and large arrays get huge pages, without
// which random access pays for address translation.
#include "engine/cpu/memory/host_array.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/mapping.h"
#include "fault/fault.h"

namespace gpujoin::cpu {

Status out_of_memory(uint64_t bytes) {
    return failure(Fault::HostMemory, "53200", "out of memory")
        .with_detail("The CPU join engine failed on a request of %llu bytes.",
                     static_cast<unsigned long long>(bytes))
        .with_hint("You might need to increase \"gpujoin.host_memory\".");
}

namespace {

// Whether it is done, once memory that is kept for other arrays has been given back.
template <typename Action>
bool at_any_cost(const Action& action) {
    if (action()) return true;
    mapping_pool().clear();
    return action();
}

}  // namespace

Status HostArray::reserve(Ledger* ledger, uint64_t bytes, uint64_t spared) {
    reset();
    const uint64_t most = round_up(std::max(bytes, kPage), kPage);
    const uint64_t reserved = MappingPool::size_class(most);
    mapping_ = mapping_pool().take(reserved);
    if (!mapping_.start && !map(reserved) && !at_any_cost([&] { return map(most); }))
        return out_of_memory(bytes);
    ledger_ = ledger;
    most_ = most;
    spared_ = round_up(spared, kPage);
    return {};
}

bool HostArray::map(uint64_t bytes) {
    mapping_.start = map_address_space(bytes);
    mapping_.reserved = mapping_.start ? bytes : 0;
    return mapping_.start != nullptr;
}

Status HostArray::grow(uint64_t bytes) {
    const uint64_t size = round_up(bytes, kPage);
    if (size <= size_) return {};
    if (size > most_ || fault_due(FaultPoint::Allocation)) return out_of_memory(bytes);
    const uint64_t charge = charged(size) - charged(size_);
    if (ledger_ && !ledger_->charge(charge)) return out_of_memory(bytes);
    if (size > mapping_.usable) {
        if (Status status = make_usable(size); !status.ok()) {
            if (ledger_) ledger_->release(charge);
            return status;
        }
    }
    // What an earlier array has left.
    const uint64_t used = std::min(size, mapping_.written);
    if (used > size_) std::memset(mapping_.start + size_, 0, used - size_);
    mapping_.written = std::max(mapping_.written, size);
    size_ = size;
    return {};
}

Status HostArray::make_usable(uint64_t bytes) {
    const uint64_t usable = mapping_.usable;
    uint64_t wanted = std::max({bytes, 2 * usable, 16 * kPage});
    wanted = std::min(wanted >= kHugePage ? round_up(wanted, kHugePage) : wanted, mapping_.reserved);
    auto protect = [&] {
        return mprotect(mapping_.start + usable, wanted - usable, PROT_READ | PROT_WRITE) == 0;
    };
    if (!at_any_cost(protect)) return out_of_memory(bytes);
    if (wanted >= 2 * kHugePage) madvise(mapping_.start, wanted, MADV_HUGEPAGE);
    mapping_.usable = wanted;
    return {};
}

Status HostArray::allocate(Ledger* ledger, uint64_t bytes) {
    GPUJOIN_RETURN_IF_FAILED(reserve(ledger, bytes));
    return grow(bytes);
}

void HostArray::reset() {
    if (mapping_.start) mapping_pool().give(mapping_);
    if (ledger_) ledger_->release(charged(size_));
    ledger_ = nullptr;
    mapping_ = {};
    most_ = spared_ = size_ = 0;
}

void HostArray::swap(HostArray& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(mapping_, other.mapping_);
    std::swap(most_, other.most_);
    std::swap(spared_, other.spared_);
    std::swap(size_, other.size_);
}

}  // namespace gpujoin::cpu
