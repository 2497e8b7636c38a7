// The joins that run now, for the view gpujoin_running: one place in shared memory for each session with the
// server, which its process writes and others read.
#pragma once

#include "pg/join_statistics.h"

extern "C" {
#include "postgres.h"
#include "datatype/timestamp.h"
}

namespace gpujoin {

enum class RunningPhase : uint32 { Building, Sealing, Probing, Finishing };

struct RunningJoin;

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_running_joins();

// Takes a place for a join of this process; nullptr: there is none, and the join is not shown. It must be
// given back, whatever becomes of the join: by the callback that counts it.
RunningJoin* show_running_join(const char* device);
// How far it has come. nullptr: it is not shown.
void update_running_join(RunningJoin* join, RunningPhase phase, const JoinCounts& counts);
void hide_running_join(RunningJoin* join);

// A copy of what there is to see.
struct RunningFacts {
    int pid;
    int leader_pid;  // of a parallel worker; else 0
    Oid database;
    TimestampTz since;
    RunningPhase phase;
    uint64 build_rows;
    uint64 probe_rows;
    uint64 result_rows;
    uint64 bytes;
    char device[64];
};

// Reads a place; false where no join is shown. Places are numbered from 0.
int running_join_places();
bool read_running_join(int place, RunningFacts* facts);

}  // namespace gpujoin
