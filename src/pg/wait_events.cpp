// See wait_events.h. PostgreSQL is asked for an event when a process first waits for it.
#include "pg/wait_events.h"

#include <iterator>

#include "pg/compat.h"

namespace gpujoin {

namespace {

constexpr const char* kNames[] = {
    "GpujoinSupervisorMain", "GpujoinKeeperMain", "GpujoinServerStart",  "GpujoinServerReceive",
    "GpujoinServerReply",    "GpujoinMemory",     "GpujoinParticipants", "GpujoinFirstError",
};
static_assert(std::size(kNames) == static_cast<size_t>(Wait::FirstError) + 1);

}  // namespace

uint32 wait_event(Wait wait) {
    static uint32 events[std::size(kNames)];
    const auto number = static_cast<size_t>(wait);
    if (events[number] == 0) events[number] = make_wait_event(kNames[number]);
    return events[number];
}

}  // namespace gpujoin
