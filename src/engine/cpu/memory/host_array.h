// HostArray: zero-initialised memory that grows in place. Address space is reserved once and made usable as
// the array grows, so that growing copies nothing and pointers stay valid while other threads write further
// down. What is usable is charged to a ledger.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/ledger.h"
#include "wire/status.h"

namespace gpujoin::cpu {

class HostArray {
  public:
    HostArray() = default;
    ~HostArray() { reset(); }
    HostArray(HostArray&& other) noexcept { swap(other); }
    HostArray& operator=(HostArray&& other) noexcept {
        swap(other);
        return *this;
    }

    // Reserves address space for at most `bytes`. Called once, before grow().
    Status reserve(Ledger* ledger, uint64_t bytes);

    // Makes the first `bytes` usable (never fewer than before) and charges them.
    Status grow(uint64_t bytes);

    // Both at once, for arrays of known size.
    Status allocate(Ledger* ledger, uint64_t bytes);

    // Gives memory, address space and charge back.
    void reset();

    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(base_);
    }
    bool empty() const { return charged_ == 0; }

  private:
    void swap(HostArray& other) noexcept;
    Status make_usable(uint64_t bytes);

    Ledger* ledger_ = nullptr;
    std::byte* base_ = nullptr;
    uint64_t reserved_ = 0;
    uint64_t usable_ = 0;   // accessible; more than is charged, so that system calls are few
    uint64_t charged_ = 0;  // a whole number of pages
};

}  // namespace gpujoin::cpu
