// The writing side of what server_state.h reads: setting up gpujoin's part of PostgreSQL's shared memory, and
// the supervisor's publications.
#pragma once

#include "pg/server_state.h"

namespace gpujoin {

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_shared_state();

// Publishes the server's facts, at once for all readers. `since` is set when the phase changes.
void publish_server_facts(const ServerFacts* facts);

// Publishes whether the ready server answers, for the planner.
void publish_pulse(uint64 generation, bool answers);

// Publishes what a calibration found, unless another server is there by now.
void publish_rates(uint64 generation, const EngineRates* rates);

}  // namespace gpujoin
