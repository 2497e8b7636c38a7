// Where PostgreSQL enters the planner and executor rooms: the hook and the callbacks that module.cpp
// registers.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/extensible.h"
}

namespace gpujoin {

// planner/: chains to the previous hook, adds GPU Join paths.
void install_join_hook();

// executor/: callbacks that make a node from a plan. Registered with RegisterCustomScanMethods under this
// name.
extern const CustomScanMethods scan_methods;
inline constexpr const char* kNodeName = "GPU Join";

}  // namespace gpujoin
