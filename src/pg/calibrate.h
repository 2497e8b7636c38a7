// Calibration as PostgreSQL sees it: the server measures its devices, and the planner counts on what it
// found.
#pragma once

#include "wire/status.h"

namespace gpujoin {

// Has the running server measure its devices, and publishes the rates of those that joins run on. False, with
// the reason in *why, when it could not.
bool calibrate(Status* why);

}  // namespace gpujoin
