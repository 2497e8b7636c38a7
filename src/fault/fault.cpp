// Fault injection: counts down to the calls that GPUJOIN_FAULT names. Empty in ordinary builds.
#include "fault/fault.h"

#ifdef GPUJOIN_FAULTS

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace gpujoin {

namespace {

constexpr std::array<std::string_view, 6> kPointNames = {"allocation", "launch", "copy",
                                                         "send",       "grant",  "reserve"};

// For each point, how many calls are left until the one that fails; 0 and below: none will.
struct Countdowns {
    std::array<std::atomic<int64_t>, kPointNames.size()> left{};

    Countdowns() {
        const char* environment = getenv("GPUJOIN_FAULT");
        for (std::string_view rest = environment ? environment : ""; !rest.empty();) {
            std::string_view item = rest.substr(0, rest.find(','));
            rest.remove_prefix(item.size() < rest.size() ? item.size() + 1 : item.size());
            size_t colon = item.find(':');
            if (colon == std::string_view::npos) continue;
            for (size_t point = 0; point < kPointNames.size(); point++)
                if (item.substr(0, colon) == kPointNames[point]) left[point] = atoll(item.data() + colon + 1);
        }
    }
};

std::atomic<int> pauses{0};

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
    return countdowns.left[static_cast<size_t>(point)].fetch_sub(1, std::memory_order_relaxed) == 1;
}

}  // namespace gpujoin

#endif
