// Memory of the CPU engine, from mmap: untouched pages cost nothing, and large arrays get huge pages, without
// which random access pays for address translation.
#include "engine/cpu/memory/host_array.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fault/fault.h"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = 2u << 20;

uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

Status out_of_memory(uint64_t bytes) {
    return failure(Fault::HostMemory, "53200", "out of memory")
        .with_detail("The CPU join engine failed on a request of %llu bytes.",
                     static_cast<unsigned long long>(bytes))
        .with_hint("You might need to increase \"gpujoin.host_memory\".");
}

// Of what was never usable. ThreadSanitizer goes through all that munmap() gives back, which takes it longer
// than most joins of tests take, and need not know of this.
void unmap_untouched(std::byte* start, uint64_t bytes) {
    if (bytes == 0) return;
#ifdef __SANITIZE_THREAD__
    syscall(SYS_munmap, start, bytes);
#else
    munmap(start, bytes);
#endif
}

}  // namespace

Status HostArray::reserve(Ledger* ledger, uint64_t bytes, uint64_t spared) {
    ledger_ = ledger;
    spared_ = spared;
    // Aligned to huge pages by hand: older kernels place mappings at any page.
    uint64_t wanted = round_up(std::max(bytes, kPage), kPage);
    uint64_t slack = wanted >= kHugePage ? kHugePage : 0;
    void* memory =
        mmap(nullptr, wanted + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return out_of_memory(bytes);
    auto* start = static_cast<std::byte*>(memory);
    uint64_t skip =
        slack ? round_up(reinterpret_cast<uintptr_t>(start), kHugePage) - reinterpret_cast<uintptr_t>(start)
              : 0;
    unmap_untouched(start, skip);
    unmap_untouched(start + skip + wanted, slack - skip);
    base_ = start + skip;
    reserved_ = wanted;
    return {};
}

Status HostArray::grow(uint64_t bytes) {
    const uint64_t size = round_up(bytes, kPage);
    if (size <= size_) return {};
    if (size > reserved_ || fault_due(FaultPoint::Allocation)) return out_of_memory(bytes);
    const uint64_t charge = charged(size) - charged(size_);
    if (ledger_ && !ledger_->charge(charge)) return out_of_memory(bytes);
    if (size > usable_) {
        if (Status status = make_usable(size); !status.ok()) {
            if (ledger_) ledger_->release(charge);
            return status;
        }
    }
    size_ = size;
    return {};
}

Status HostArray::make_usable(uint64_t bytes) {
    uint64_t wanted = std::max({bytes, 2 * usable_, 16 * kPage});
    wanted = std::min(wanted >= kHugePage ? round_up(wanted, kHugePage) : wanted, reserved_);
    if (mprotect(base_ + usable_, wanted - usable_, PROT_READ | PROT_WRITE) != 0) return out_of_memory(bytes);
    if (wanted >= 2 * kHugePage) madvise(base_, wanted, MADV_HUGEPAGE);
    usable_ = wanted;
    return {};
}

Status HostArray::allocate(Ledger* ledger, uint64_t bytes) {
    GPUJOIN_RETURN_IF_FAILED(reserve(ledger, bytes));
    return grow(bytes);
}

void HostArray::reset() {
    if (base_) unmap_untouched(base_ + usable_, reserved_ - usable_);
    if (usable_ > 0) munmap(base_, usable_);
    if (ledger_) ledger_->release(charged(size_));
    base_ = nullptr;
    ledger_ = nullptr;
    reserved_ = spared_ = usable_ = size_ = 0;
}

void HostArray::swap(HostArray& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(base_, other.base_);
    std::swap(reserved_, other.reserved_);
    std::swap(usable_, other.usable_);
    std::swap(spared_, other.spared_);
    std::swap(size_, other.size_);
}

}  // namespace gpujoin::cpu
