// HostArray: zero-initialised memory that grows in place. Address space is reserved once and made usable as
// the array grows, so that growing copies nothing and pointers stay valid while other threads write further
// down. What is usable is charged to a ledger. Small arrays have the memory of earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/memory/mapping_pool.h"
#include "engine/ledger.h"
#include "wire/status.h"

namespace gpujoin::cpu {

// 53200: so many bytes cannot be had.
Status out_of_memory(uint64_t bytes);

class HostArray {
  public:
    HostArray() = default;
    ~HostArray() { reset(); }
    HostArray(HostArray&& other) noexcept { swap(other); }
    HostArray& operator=(HostArray&& other) noexcept {
        swap(other);
        return *this;
    }

    // Reserves address space for at most `bytes`, of which the first `spared`, in whole pages, are never
    // charged. Called before grow(); what there was is given back.
    Status reserve(Ledger* ledger, uint64_t bytes, uint64_t spared = 0);

    // Makes the first `bytes` usable (never fewer than before) and charges what is not spared.
    Status grow(uint64_t bytes);

    // Both at once, for arrays of known size.
    Status allocate(Ledger* ledger, uint64_t bytes);

    // Gives memory, address space and charge back.
    void reset();

    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(mapping_.start);
    }
    bool empty() const { return size_ == 0; }

  private:
    void swap(HostArray& other) noexcept;
    bool map(uint64_t bytes);
    Status make_usable(uint64_t bytes);
    uint64_t charged(uint64_t size) const { return size > spared_ ? size - spared_ : 0; }

    Ledger* ledger_ = nullptr;
    Mapping mapping_;  // more of it is usable than was asked for, so that system calls are few
    uint64_t most_ = 0;
    uint64_t spared_ = 0;
    uint64_t size_ = 0;  // as asked for, a whole number of pages: they are charged from spared_ on
};

}  // namespace gpujoin::cpu
