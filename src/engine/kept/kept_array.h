// KeptArray: memory for what is kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/ledger.h"

namespace gpujoin {

// An array that grows without being copied, charged to a ledger.
class KeptArray {
  public:
    explicit KeptArray(Ledger* ledger) : ledger_(ledger) {}
    ~KeptArray();
    KeptArray(KeptArray&& other) noexcept;
    KeptArray(const KeptArray&) = delete;
    KeptArray& operator=(const KeptArray&) = delete;

    // False, and nothing done, where there is no room.
    bool reserve(uint64_t bytes);
    bool append(const void* bytes, uint64_t count);
    bool resize(uint64_t bytes);  // never to less; what is new is zero, but after truncate()
    void truncate(uint64_t bytes) { bytes_ = bytes; }  // never to more
    void shrink();
    void swap(KeptArray& other) noexcept;

    uint64_t bytes() const { return bytes_; }
    uint64_t charged() const { return capacity_; }
    template <typename Value>
    const Value* as() const {
        return reinterpret_cast<const Value*>(memory_);
    }
    std::byte* data() { return memory_; }

  private:
    bool grow_to(uint64_t bytes);
    bool take(uint64_t capacity);
    bool map(uint64_t capacity);

    Ledger* ledger_;
    std::byte* memory_ = nullptr;
    uint64_t bytes_ = 0;
    uint64_t capacity_ = 0;  // a whole number of pages, as charged
};

}  // namespace gpujoin
