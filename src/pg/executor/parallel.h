// The parallel join: one build side for all processes (participants: the leader and its workers) that run a
// parallel-aware GPU Join. See parallel.cpp for the protocol.
#pragma once

#include "pg/executor/state.h"

extern "C" {
#include "access/parallel.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

// Takes part: opens the session or attaches to it, appends this participant's share of the build side, and
// waits until the build side is sealed. False when the join was finished without this participant, so that
// there is no row left for it; and where there is too little memory: then there may be partitions, of which
// this participant takes one after the other.
bool enter_parallel_join(GpuJoinState* state);

// This participant has received all results for its share of the probe side. True for one participant, who
// then emits the build rows that have (not) matched.
bool finish_parallel_probing(GpuJoinState* state);

// Leaves the join, just before the client is closed.
void leave_parallel_join(GpuJoinState* state);

// The session has moved to the CPU engine: true for the first participant that says so.
bool claim_move(ParallelJoin* join);

// This process takes part from now on. Whether a worker is to count that the join did not come to its end:
// the first one, unless the leader takes part, who knows what the end was.
void note_part(ParallelJoin* join);
bool claim_end(ParallelJoin* join);

// Of an open join.
void add_to_worker_figures(GpuJoinState* state);

// The callbacks for dynamic shared memory.
Size estimate_parallel_join(CustomScanState* node, ParallelContext* context);
void init_parallel_join(CustomScanState* node, ParallelContext* context, void* shared);
void reinit_parallel_join(CustomScanState* node, ParallelContext* context, void* shared);
void init_parallel_worker(CustomScanState* node, shm_toc* toc, void* shared);

// This process will not touch the shared memory any more. The leader collects the participants' figures.
void shut_parallel_join_down(GpuJoinState* state);

}  // namespace gpujoin
