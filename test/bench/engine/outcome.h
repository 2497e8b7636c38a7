// Outcome: what one run of a case gave, and how long it took.
#pragma once

#include "oracle.h"
#include "wire/stats.h"
#include "wire/status.h"

namespace gpujoin::bench {

// `rows` of the check covers every result row; its sum is only filled in when it was taken.
struct Outcome {
    Status status;
    double seconds = 0;
    bool checked = false;
    Check check;
    SealReport seal{};
    JoinStats stats{};
};

}  // namespace gpujoin::bench
