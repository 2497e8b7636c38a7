// Fault injection for test builds (make FAULTS=1): makes the n-th allocation, launch, copy, send or grant of
// a process fail. Set by the environment, for example GPUJOIN_FAULT="grant:3,copy:10". In other builds
// fault_due() is a constant.
#pragma once

namespace gpujoin {

enum class FaultPoint { Allocation, Launch, Copy, Send, Grant };

#ifdef GPUJOIN_FAULTS
// Counts this call; true when it is the one that shall fail. Thread-safe.
bool fault_due(FaultPoint point);
#else
constexpr bool fault_due(FaultPoint) {
    return false;
}
#endif

}  // namespace gpujoin
