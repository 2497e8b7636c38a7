// SharedPartitions: the partitions of a parallel join for which memory is short. All participants divide
// their shares of the inputs, each into files of its own; then each takes one partition after the other, all
// parts of its files, and joins it alone.
#pragma once

#include "pg/executor/division.h"
#include "pg/executor/partition.h"
#include "pg/executor/state.h"

extern "C" {
#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/spin.h"
}

namespace gpujoin {

// In the query's dynamic shared memory; or, where there is none, in memory of the leader, who is alone.
inline constexpr int kNoStage = -1;

struct SharedPartitions {
    dsm_handle segment;  // that this lies in; DSM_HANDLE_INVALID: there is none
    SharedFileSet files;
    int participants;  // at most
    bool are_used;     // in this run

    // Said by one participant while the others wait.
    int stage;  // whose build side is divided
    bool by_keys;
    uint64 attempted_bytes;
    pg_atomic_uint32 taken;
    slock_t mutex;
    HashSpread spread;
};

// To be called by the leader, before there are participants. segment: nullptr where there is none.
void init_shared_partitions(const GpuJoinState* state, SharedPartitions* shared, dsm_segment* segment,
                            int participants);

// By the leader, before the participants of a further run start.
void reset_shared_partitions(SharedPartitions* shared);

// By each participant, once in a run.
void attach_shared_files(SharedPartitions* shared);

// Divides what this participant reads of the inputs. reads_build_side tells of which build sides it reads
// any.
void divide_share(GpuJoinState* state, SharedPartitions* shared,
                  bool (*reads_build_side)(GpuJoinState*, int stage));

// When all have done that: the files that all partitions share, as a partition without others.
Partition* open_shared_whole(GpuJoinState* state, SharedPartitions* shared);

// The next partition that nobody has taken; nullptr: there is none.
Partition* take_shared_partition(GpuJoinState* state, SharedPartitions* shared, const Partition* whole);

}  // namespace gpujoin
