// ServerState: what the supervisor publishes about the server process in PostgreSQL's shared memory, and what
// backends need to find it. Absent when gpujoin is not in shared_preload_libraries.
#pragma once

extern "C" {
#include "postgres.h"
#include "datatype/timestamp.h"
}

#include "pg/socket_place.h"
#include "wire/stats.h"

namespace gpujoin {

enum class ServerPhase : int { NotPreloaded, Starting, Ready, Down };

struct ServerFacts {
    ServerPhase phase;
    uint64 generation;  // counts server processes since the postmaster started
    TimestampTz since;  // when this phase began
    char socket_name[kSocketNameBytes];
    char last_words[256];  // of a server that went down: its last complaint and how it ended
    bool has_gpu;          // joins run on a GPU
    uint64 device_memory;  // bytes a join's build side may take on the device
    uint64 host_memory;    // bytes all joins together may take in the server
    uint64 keep_memory;    // bytes kept columns may take there; 0: none are kept
    uint64 staging_memory;
    EngineRates rates;  // of the devices that joins run on, the slower in each; all 0 before calibration
    int server_pid;     // 0 when there is none
};

// Copies the published facts. phase is NotPreloaded where there is no shared memory of ours.
void read_server_facts(ServerFacts* facts);

// What the planner needs of them, which asks for each pair of relations.
struct PlanningFacts {
    uint64 host_memory;    // bytes that the join may take
    uint64 engine_memory;  // the same where the engine has its rows
    EngineRates rates;
};
void read_planning_facts(PlanningFacts* facts);

// Bytes that kept columns may take in the server; 0: none are kept, or there is no server.
uint64 server_keep_memory();

// One atomic read: the generation of the server that was started last; 0: there was none.
uint64 latest_server();

// One atomic read: can a join be planned now? (phase Ready, and the server answers)
bool server_is_ready();

// One atomic read: is that server the one that is ready? A process stuck in the kernel holds its sockets open
// even after it was killed; so whoever waits for one looks here from time to time.
bool server_is_alive(uint64 generation);

// That server did not open a join: none is planned until it answers the supervisor again.
void doubt_server(uint64 generation);

}  // namespace gpujoin
