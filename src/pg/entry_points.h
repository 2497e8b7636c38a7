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
// The same for the search for an order of joins.
void install_join_search();
// The same for the grouping of a chain's rows.
void install_groups_hook();
// The same for tables whose rows are wanted as they are; and around the planner.
void install_kept_scan_hook();

// EXPLAIN (VERBOSE) tells of joins that are left to core though they are forced.
void install_explain_hook();

// Around the planner and runs of the executor: what would be worth keeping. While shared_preload_libraries
// are loaded only.
void install_prospects();

// What is planned: nodes below Sort and Limit are told how many rows are wanted.
void install_top_rows();

// executor/: callbacks that make a node from a plan, whose rows are those of joins, or groups. Registered
// with RegisterCustomScanMethods under their names.
extern const CustomScanMethods scan_methods;
extern const CustomScanMethods kept_scan_methods;
extern const CustomScanMethods group_methods;
extern const CustomScanMethods complete_groups_methods;
inline constexpr const char* kNodeName = "GPU Join";
inline constexpr const char* kScanNodeName = "GPU Scan";
inline constexpr const char* kGroupNodeName = "GPU Aggregate";
inline constexpr const char* kCompleteGroupsNodeName = "GPU Finalize Aggregate";

}  // namespace gpujoin
