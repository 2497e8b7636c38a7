// See memory_charge.h.
#include "engine/cpu/memory/memory_charge.h"

#include <utility>

#include "engine/cpu/memory/host_array.h"
#include "fault/fault.h"

namespace gpujoin::cpu {

Status MemoryCharge::take(Ledger* ledger, uint64_t bytes) {
    if (fault_due(FaultPoint::Allocation)) return out_of_memory(bytes);
    if (ledger && !ledger->charge(bytes)) return out_of_memory(bytes);
    ledger_ = ledger;
    bytes_ = bytes;
    return {};
}

void MemoryCharge::reset() {
    const uint64_t bytes = std::exchange(bytes_, 0);
    if (Ledger* ledger = std::exchange(ledger_, nullptr)) ledger->release(bytes);
}

}  // namespace gpujoin::cpu
