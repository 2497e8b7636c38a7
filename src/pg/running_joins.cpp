// A place is free while its pid is 0. Whoever takes it writes everything else first, and the number of its
// version is odd meanwhile; whoever reads it looks whether it is still the same version that he has read.
#include "pg/running_joins.h"

#include <cstring>
#include <initializer_list>

#include "pg/compat.h"
#include "pg/shared_memory.h"

extern "C" {
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

struct RunningJoin {
    pg_atomic_uint32 owner;    // pid; 0: free
    pg_atomic_uint32 version;  // odd while the facts below are written
    int leader_pid;
    Oid database;
    TimestampTz since;
    char device[64];
    pg_atomic_uint32 phase;
    pg_atomic_uint64 build_rows;
    pg_atomic_uint64 probe_rows;
    pg_atomic_uint64 result_rows;
    pg_atomic_uint64 bytes;
};

namespace {

constexpr int kPlaces = 512;

struct RunningJoins {
    uint64 build;
    RunningJoin join[kPlaces];
};

RunningJoins* running = nullptr;

void initialise(RunningJoins* joins) {
    for (RunningJoin& join : joins->join) {
        for (pg_atomic_uint32* number : {&join.owner, &join.version, &join.phase})
            pg_atomic_init_u32(number, 0);
        for (pg_atomic_uint64* number : {&join.build_rows, &join.probe_rows, &join.result_rows, &join.bytes})
            pg_atomic_init_u64(number, 0);
    }
}

void attach(void* memory, LWLock* /*lock*/, bool is_new) {
    running = static_cast<RunningJoins*>(memory);
    if (is_new) initialise(running);
}

constexpr SharedStruct kShared = {"gpujoin running joins", sizeof(RunningJoins), nullptr, attach};

// Processes begin to look at different places.
RunningJoin* take_place() {
    const int first = MyProcPid % kPlaces;
    for (int i = 0; i < kPlaces; i++) {
        RunningJoin* join = &running->join[(first + i) % kPlaces];
        uint32 nobody = 0;
        if (pg_atomic_read_u32(&join->owner) == 0 &&
            pg_atomic_compare_exchange_u32(&join->owner, &nobody, static_cast<uint32>(MyProcPid)))
            return join;
    }
    return nullptr;
}

int leader_pid() {
    const PGPROC* leader = MyProc->lockGroupLeader;
    return leader && leader != MyProc ? leader->pid : 0;
}

}  // namespace

void install_running_joins() {
    install_shared_struct(&kShared);
}

RunningJoin* show_running_join(const char* device) {
    RunningJoin* join = running ? take_place() : nullptr;
    if (!join) return nullptr;
    pg_atomic_fetch_add_u32(&join->version, 1);
    join->leader_pid = leader_pid();
    join->database = MyDatabaseId;
    join->since = GetCurrentTimestamp();
    strlcpy(join->device, device, sizeof join->device);
    update_running_join(join, RunningPhase::Building, {});
    pg_atomic_fetch_add_u32(&join->version, 1);
    return join;
}

void update_running_join(RunningJoin* join, RunningPhase phase, const JoinCounts& counts) {
    if (!join) return;
    pg_atomic_write_u32(&join->phase, static_cast<uint32>(phase));
    pg_atomic_write_u64(&join->build_rows, counts.build_rows);
    pg_atomic_write_u64(&join->probe_rows, counts.probe_rows);
    pg_atomic_write_u64(&join->result_rows, counts.result_rows);
    pg_atomic_write_u64(&join->bytes, counts.bytes);
}

void hide_running_join(RunningJoin* join) {
    if (join) pg_atomic_write_u32(&join->owner, 0);
}

int running_join_places() {
    return running ? kPlaces : 0;
}

bool read_running_join(int place, RunningFacts* facts) {
    RunningJoin* join = &running->join[place];
    const uint32 version = pg_atomic_read_u32(&join->version);
    pg_read_barrier();
    *facts = {};
    facts->pid = static_cast<int>(pg_atomic_read_u32(&join->owner));
    facts->leader_pid = join->leader_pid;
    facts->database = join->database;
    facts->since = join->since;
    memcpy(facts->device, join->device, sizeof facts->device);
    facts->phase = static_cast<RunningPhase>(pg_atomic_read_u32(&join->phase));
    facts->build_rows = pg_atomic_read_u64(&join->build_rows);
    facts->probe_rows = pg_atomic_read_u64(&join->probe_rows);
    facts->result_rows = pg_atomic_read_u64(&join->result_rows);
    facts->bytes = pg_atomic_read_u64(&join->bytes);
    pg_read_barrier();
    const bool is_whole = version % 2 == 0 && version == pg_atomic_read_u32(&join->version);
    return facts->pid != 0 && is_whole;
}

}  // namespace gpujoin
