// What all sessions share. Not owned; outlives them. The event thread's, except for the ledger and the
// queues, which any thread may use.
#pragma once

#include "server/arena.h"
#include "server/devices.h"
#include "server/guard.h"
#include "server/kept_store.h"
#include "server/reserver.h"
#include "server/workers.h"

namespace gpujoin {

struct Resources {
    Arena* arena;
    Ledger* host_memory;
    Ledger* reserve;  // what each join may have of host memory where others have used it up
    Devices* devices;
    WorkerThreads* workers;
    Reserver* reserver;
    Mailbox* mailbox;
    KeptStore* kept;  // the event thread's
};

// What a client is told when gpujoin.host_memory is used up.
inline Status out_of_host_memory() {
    return failure(Fault::HostMemory, "53200", "out of memory for joins")
        .with_detail("The memory set aside for all joins together is used up.")
        .with_hint("Increase gpujoin.host_memory, or set gpujoin.enabled to off for this query.");
}

}  // namespace gpujoin
