// What processes wait for, as pg_stat_activity shows it: by names of ours from PostgreSQL 17 on.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

enum class Wait {
    SupervisorMain,  // the supervisor, for its server and for changes
    KeeperMain,      // a keeper, for tables that are to be kept
    ServerStart,     // a backend, for a server that is being started
    ServerReceive,   // for the server to take a message
    ServerReply,     // for an answer or results of the server
    Memory,          // for memory that other joins hold
    Participants,    // for the other processes of a parallel join
    FirstError,      // of a query, which another process has raised
};

uint32 wait_event(Wait wait);

}  // namespace gpujoin
