// What a node counts for the statistics (join_statistics.h), and shows of its join while that runs. A run of
// the node is one join, though it may take several sessions with the server: attempts that are refused
// memory, and partitions. Time counts while the node is at work, not while others are who take its rows.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// Before a session is opened, or attached to: then another process counts the join.
void start_counting(GpuJoinState* state, bool attaches);
// It is open, or has come further.
void count_opened(GpuJoinState* state);
void update_shown_join(GpuJoinState* state, RunningPhase phase);
// The session is over, if one was begun; it may have been refused.
void count_session(GpuJoinState* state);
// After that: the run goes on in another session.
void go_on_counting(GpuJoinState* state);

// Around what the node does.
void begin_step(GpuJoinState* state);
void end_step(GpuJoinState* state);
// From here on it is the time of another phase, or of another session.
void count_time(GpuJoinState* state);

// Of the result that has come.
void count_result(GpuJoinState* state);

}  // namespace gpujoin
