// MemoryCharge: what a ledger is charged with for memory that is to be allocated later.
#pragma once

#include <cstdint>

#include "engine/ledger.h"
#include "wire/status.h"

namespace gpujoin::cpu {

class MemoryCharge {
  public:
    MemoryCharge() = default;
    ~MemoryCharge() { reset(); }
    MemoryCharge(const MemoryCharge&) = delete;
    MemoryCharge& operator=(const MemoryCharge&) = delete;

    // Once. 53200: there is not so much. ledger: nullptr where nobody counts.
    Status take(Ledger* ledger, uint64_t bytes);
    // Gives it back.
    void reset();

  private:
    Ledger* ledger_ = nullptr;
    uint64_t bytes_ = 0;
};

}  // namespace gpujoin::cpu
