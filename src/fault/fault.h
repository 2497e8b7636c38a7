// Fault injection for test builds (make FAULTS=1): makes the n-th allocation, launch, copy, send, grant or
// reservation of pages of a process fail, or old columns be kept in the place of new ones ("stale"). Set by
// the environment, for example GPUJOIN_FAULT="grant:3,copy:10"; with a "+" behind the number all from the
// n-th on. In other builds fault_due() is a constant.
#pragma once

namespace gpujoin {

enum class FaultPoint { Allocation, Launch, Copy, Send, Grant, Reserve, Stale };

#ifdef GPUJOIN_FAULTS
// Counts this call; true when it is the one that shall fail. Thread-safe.
bool fault_due(FaultPoint point);
// Nothing is counted and nothing fails while there is one: for what a server does by itself, so that the n-th
// call is a join's.
struct FaultPause {
    FaultPause();
    ~FaultPause();
};
#else
constexpr bool fault_due(FaultPoint) {
    return false;
}
struct [[maybe_unused]] FaultPause {};
#endif

}  // namespace gpujoin
