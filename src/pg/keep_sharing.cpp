// See keep_sharing.h. A keeper has a place in shared memory while it shares. A helper that comes late finds
// another number there, and leaves it alone.
#include "pg/keep_sharing.h"

#include <algorithm>
#include <type_traits>

#include "pg/compat.h"
#include "pg/keeper_processes.h"
#include "pg/shared_memory.h"

extern "C" {
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int kMostHelpers = 64;  // of all keepers
constexpr const char* kLockName = "gpujoin_keep_sharing";
constexpr int kComingMs = 2000;  // for helpers to come, before more are started

struct Place {
    Oid database;  // InvalidOid: the place is free
    int keeper;    // the process
    uint64 number;
    uint64 blocks;
    uint32 chunks;
    uint32 next;
    uint32 taken;  // and not ended
    bool has_failed;
    uint64 kept;
    KeepRequest request;
};

struct KeepSharing {
    uint64 build;
    uint64 last_number;
    Oid helpers[kMostHelpers];  // databases of the processes; InvalidOid: the place is free
    Place places[kMostKeepers];
};

KeepSharing* sharing = nullptr;
LWLock* lock = nullptr;

// What this process takes chunks of.
Place* joined = nullptr;
uint64 joined_number = 0;
bool is_at_chunk = false;

void attach(void* memory, LWLock* its_lock, bool /*is_new*/) {
    sharing = static_cast<KeepSharing*>(memory);
    lock = its_lock;
}

constexpr SharedStruct kShared = {"gpujoin keep sharing", sizeof(KeepSharing), kLockName, attach};

template <typename Task>
auto locked(const Task& task) {
    LWLockAcquire(lock, LW_EXCLUSIVE);
    if constexpr (std::is_void_v<decltype(task())>) {
        task();
        LWLockRelease(lock);
    } else {
        const auto result = task();
        LWLockRelease(lock);
        return result;
    }
}

// --- With the lock held

bool is_joined() {
    return joined && joined->number == joined_number && joined->database != InvalidOid;
}

bool has_chunks(const Place& place) {
    return place.database != InvalidOid && !place.has_failed && place.next < place.chunks;
}

void end_taken(bool is_kept, uint64 blocks) {
    if (is_at_chunk && is_joined()) {
        joined->taken--;
        joined->kept += blocks;
        joined->has_failed |= !is_kept;
    }
    is_at_chunk = false;
}

Place* find_room() {
    for (Place& place : sharing->places)
        if (place.database == InvalidOid) return &place;
    return nullptr;
}

void leave_places() {
    for (Place& place : sharing->places)
        if (place.keeper == MyProcPid) place.database = InvalidOid;
}

// ---

void on_keeper_exit(int, Datum) {
    locked(leave_places);
}

int helpers_of(Oid database) {
    return static_cast<int>(std::count(sharing->helpers, sharing->helpers + kMostHelpers, database));
}

Oid* find_helper(Oid database) {
    Oid* end = sharing->helpers + kMostHelpers;
    Oid* found = std::find(sharing->helpers, end, database);
    return found == end ? nullptr : found;
}

void on_helper_exit(int, Datum database) {
    locked([database] {
        if (Oid* own = find_helper(DatumGetObjectId(database))) *own = InvalidOid;
        end_taken(false, 0);
    });
}

}  // namespace

void install_keep_sharing() {
    install_shared_struct(&kShared);
}

void enter_sharing() {
    if (!sharing) proc_exit(0);
    before_shmem_exit(on_keeper_exit, 0);
}

void share_chunks(const KeepRequest* request, uint64 blocks, uint32 chunks) {
    const bool has_room = locked([&] {
        leave_places();
        joined = find_room();
        if (!joined) return false;
        *joined = {request->database, MyProcPid, ++sharing->last_number, blocks, chunks, 0, 0, false, 0,
                   *request};
        joined_number = joined->number;
        return true;
    });
    if (!has_room) elog(ERROR, "more keepers share chunks than there may be");
}

void call_helpers() {
    static TimestampTz called = 0;
    const int missing =
        locked([] { return most_helpers(joined->chunks - joined->next) - helpers_of(MyDatabaseId); });
    const TimestampTz now = GetCurrentTimestamp();
    if (missing <= 0 || !TimestampDifferenceExceeds(called, now, kComingMs)) return;
    called = now;
    for (int i = 0; i < missing; i++)
        if (!start_helper(MyDatabaseId)) return;
}

SharedKeeping shared_keeping() {
    return locked([] {
        return SharedKeeping{joined->taken == 0 && !has_chunks(*joined), joined->has_failed, joined->kept};
    });
}

void end_sharing() {
    locked(leave_places);
}

void enter_helpers(Oid database) {
    if (!sharing) proc_exit(0);
    const bool has_room = locked([database] {
        Oid* own = find_helper(InvalidOid);
        if (own) *own = database;
        return own != nullptr;
    });
    if (!has_room) proc_exit(0);
    before_shmem_exit(on_helper_exit, ObjectIdGetDatum(database));
}

const KeepRequest* join_sharing(uint64* blocks) {
    static KeepRequest copy;
    return locked([&]() -> const KeepRequest* {
        for (Place& place : sharing->places) {
            if (!has_chunks(place) || place.database != MyDatabaseId) continue;
            joined = &place;
            joined_number = place.number;
            *blocks = place.blocks;
            copy = place.request;
            return &copy;
        }
        return nullptr;
    });
}

bool take_chunk(uint32* chunk) {
    return locked([chunk] {
        if (!is_joined() || !has_chunks(*joined)) return false;
        *chunk = joined->next++;
        joined->taken++;
        is_at_chunk = true;
        return true;
    });
}

void end_chunk(bool is_kept, uint64 blocks) {
    locked([=] { end_taken(is_kept, blocks); });
}

void give_up_chunks() {
    locked([] {
        if (is_joined()) joined->has_failed = true;
    });
}

}  // namespace gpujoin
