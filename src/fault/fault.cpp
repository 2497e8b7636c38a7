// Fault injection: counts down to the calls that GPUJOIN_FAULT names. Empty in ordinary builds.
#include "fault/fault.h"

#ifdef GPUJOIN_FAULTS

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gpujoin {

namespace {

constexpr std::array<std::string_view, 7> kPointNames = {"allocation", "launch",  "copy", "send",
                                                         "grant",      "reserve", "stale"};

// For each point, how many calls are left until the one that fails; 0 and below: none will.
struct Countdowns {
    std::array<std::atomic<int64_t>, kPointNames.size()> left{};
    std::array<bool, kPointNames.size()> goes_on{};  // the calls behind it fail too

    Countdowns() {
        const char* environment = getenv("GPUJOIN_FAULT");
        for (std::string_view rest = environment ? environment : ""; !rest.empty();) {
            std::string_view item = rest.substr(0, rest.find(','));
            rest.remove_prefix(item.size() < rest.size() ? item.size() + 1 : item.size());
            size_t colon = item.find(':');
            if (colon == std::string_view::npos) continue;
            for (size_t point = 0; point < kPointNames.size(); point++)
                if (item.substr(0, colon) == kPointNames[point]) {
                    left[point] = atoll(item.data() + colon + 1);
                    goes_on[point] = item.ends_with('+');
                }
        }
    }
};

std::atomic<int> pauses{0};

// A line of the log, by which a test knows that the call came.
void tell(FaultPoint point) {
    char line[64];
    int length = snprintf(line, sizeof line, "LOG: fault injected: %s\n",
                          kPointNames[static_cast<size_t>(point)].data());
    if (write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0) return;  // nobody is there to read it
}

}  // namespace

FaultPause::FaultPause() {
    pauses++;
}

FaultPause::~FaultPause() {
    pauses--;
}

bool fault_due(FaultPoint point) {
    static Countdowns countdowns;
    if (pauses > 0) return false;
    const auto number = static_cast<size_t>(point);
    const int64_t left = countdowns.left[number].fetch_sub(1, std::memory_order_relaxed);
    if (left != 1 && (left > 1 || !countdowns.goes_on[number])) return false;
    tell(point);
    return true;
}

}  // namespace gpujoin

#endif
