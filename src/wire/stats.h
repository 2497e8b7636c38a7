// Figures that an engine reports about a join: what EXPLAIN ANALYZE and the statistics views show. Plain
// structs that travel in messages. Times are milliseconds of wall clock on the server.
#pragma once

#include <cstdint>

#include "wire/join_spec.h"

namespace gpujoin {

struct SealReport {
    Algorithm algorithm;
    ResultOrder order;  // of results
    uint8_t reserved[6];
    uint64_t build_rows;
};

struct JoinStats {
    uint64_t build_rows;
    uint64_t build_bytes;
    uint64_t build_batches;
    uint64_t probe_rows;
    uint64_t probe_bytes;
    uint64_t probe_batches;
    uint64_t skipped_rows;  // kept rows for the build side that were not looked at: none meets the conditions
    double append_ms;       // work of calls, without what they waited for their turns
    double seal_ms;
    double probe_ms;            // looking up and writing results
    uint64_t peak_memory;       // bytes charged at most, on the device it ran on
    uint64_t peak_seal_memory;  // the same at seal
    Algorithm algorithm;
    uint8_t moved;  // 1: moved to the CPU engine, because the device had no room
    uint8_t fused;  // 1: rows were looked up in one pass with the stages beside it
    uint8_t reserved[5];
    char device[64];
};

inline constexpr uint32_t kMaxReplicas = 16;

// What one of several devices had of a fragment that all of them run (engine/replicated).
struct ReplicaStats {
    uint64_t rows;  // source rows
    double ms;      // work on them, in all stages and the sink
};

// What came to the sink of a fragment (wire/fragment_spec.h).
struct SinkStats {
    uint64_t rows;                       // of the last stage
    uint64_t escaped_rows;               // given back to the client, to aggregate or to fail on
    uint64_t groups;                     // given out so far; the same group may have come several times
    uint64_t left_out;                   // rows and groups that cannot be among the first ones
    uint64_t skipped_rows;               // kept rows of the source that were not looked at
    double ms;                           // gathering rows, computing values, aggregating
    uint64_t peak_memory;                // bytes charged for tables of groups at most
    ReplicaStats replica[kMaxReplicas];  // of each device; no rows where there is one
};

// What an engine takes on the machine it runs on, as measured by calibration. All 0: not measured.
struct EngineRates {
    double setup_ns;     // a join without rows, from open to destroy
    double build_ns;     // a build row: append and seal
    double probe_ns;     // a probe row that finds nothing
    double match_ns;     // each match that it finds
    double transfer_ns;  // a byte that goes along, to the engine or back
};

}  // namespace gpujoin
