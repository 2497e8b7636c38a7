// Partitions: how a join runs for which memory is short. Both inputs are written to temporary files, in
// partitions by the hash of a stage's keys (Grace hash join: Kitsuregawa, Tanaka and Moto-oka, 1983), and the
// partitions are joined one after the other, each by a join of its own at the server. What is still too large
// is partitioned again, by other bits of the hash. Where keys do not tell rows apart, the build side is cut
// into pieces, each of which all probe rows pass, as long as each row of the result is of one build row.
//
// In a chain it is the largest build side that is divided, and the others are read again for each partition,
// until another one is the largest.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

struct SharedPartitions;

bool is_partitioned(const GpuJoinState* state);

// Partitions are joins of their own for the server, which may make room for another one when there are none:
// it stays while it is held. To be called before the join that was refused memory is closed; and when one was
// opened, since the server that is held may have ended. Where it cannot be held the join goes on all the
// same.
void hold_server(GpuJoinState* state);
void let_server_go(GpuJoinState* state);

// After the server refused memory for the join, which has been closed: makes partitions of it, or of the one
// that was to be joined, and goes to the first. Where little was asked for it waits a little, since others
// use the memory now. What cannot be divided is joined with memory of the server's reserve. Raises the
// refusal when nothing helps.
void partition_join(GpuJoinState* state, const Status* refusal);

// The join, or the partition at hand, is to be run once more as it is: reads the same. A probe child has been
// rescanned.
void reread_join(GpuJoinState* state);

// What was sent of the build sides in this attempt.
uint64 attempted_bytes(const GpuJoinState* state);

// Which stage's build side is to be divided, as far as the build sides were sent to the server, and whether
// by its keys or, with false, by cutting it, if at all; kNoStage where there is none.
int choose_division(const GpuJoinState* state, bool* by_keys);

// Nobody will read the build sides' copies any more.
void forget_copies(GpuJoinState* state);

// From now on the partitions are those that the participants of a parallel join have made.
void take_shared_partitions(GpuJoinState* state, SharedPartitions* shared);

// Goes to the next partition. False where there is none.
bool next_partition(GpuJoinState* state);

// The join runs as a whole again, when it is run again.
void forget_partitions(GpuJoinState* state);

}  // namespace gpujoin
