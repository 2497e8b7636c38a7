// Calibration as PostgreSQL sees it: the server measures its devices, and the planner counts on what it
// found.
#pragma once

#include "pg/server_state.h"
#include "wire/message.h"
#include "wire/status.h"

namespace gpujoin {

// Has the running server measure its devices, and publishes the rates of those that joins run on. False, with
// the reason in *why, when it could not.
bool calibrate(Status* why);

// Publishes the rates that a server has measured.
void publish_measured(const ServerFacts& facts, const DevicesBody& devices);

}  // namespace gpujoin
