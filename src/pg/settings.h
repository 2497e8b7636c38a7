// The settings (GUC variables) of gpujoin; defined in settings.cpp, described in docs/reference.md.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

extern bool setting_enabled;    // gpujoin.enabled
extern bool setting_force;      // gpujoin.force: plan every eligible join as GPU Join, whatever the cost
extern bool setting_chain;      // gpujoin.chain: several joins in one node
extern bool setting_aggregate;  // gpujoin.aggregate: aggregates above joins, in the same node
extern bool setting_float_aggregates;    // gpujoin.float_aggregates: sums of floats, in any order
extern bool setting_decorrelate;         // gpujoin.decorrelate: correlated subqueries as joins
extern bool setting_keep_in_background;  // gpujoin.keep_in_background: the keeper reads what is to be kept
extern int setting_keep_workers;    // gpujoin.keep_workers: processes of a database that do so; 0: as suits
extern bool setting_carry;          // gpujoin.carry: probe columns go through the engine where they can
extern int setting_algorithm;       // gpujoin.algorithm: an Algorithm
extern char* setting_device;        // gpujoin.device (postmaster): auto, cpu, or GPU numbers
extern int setting_device_memory;   // MB, 0: four fifths of what is free when the server starts
extern int setting_staging_memory;  // MB
extern int setting_keep_memory;     // MB, 0: no columns are kept, -1: the server's default
extern int setting_host_memory;     // MB, 0: half of what the machine or container has, beside shared_buffers
extern int setting_max_join_memory;  // MB that one join may take, 0: no less than all joins
extern int setting_cpu_threads;      // 0: all
extern int setting_server_timeout;   // ms that the server may take to answer a heartbeat
// Cost settings, in units of cpu_operator_cost's currency (see planner/cost.cpp for what each multiplies).
extern double setting_startup_cost;  // beside the engine's part of it
extern double setting_encode_cost;   // a value encoded and written to a block
extern double
    setting_transfer_cost;         // a MB to or from the engine; -1: as measured on the device, and so below
extern double setting_build_cost;  // a build row, in the engine
extern double setting_match_cost;  // each match, in the engine
extern double setting_probe_cost;  // a probe row, in the engine
extern double setting_pair_cost;   // a pair that conditions are tested on, in the CPU engine
extern double setting_emit_cost;   // a result row handed out

// What a server is started with that a reload may change.
struct ServerSettings {
    int device_memory;
    int host_memory;
    int staging_memory;
    int keep_memory;
    int cpu_threads;

    bool operator==(const ServerSettings&) const = default;
};

// As they are now.
ServerSettings server_settings();

void define_settings();

}  // namespace gpujoin
