// See keep_requests.h. A request that was dealt with stays in its place until another one needs it, so that
// what could not be kept is not asked for by every scan.
#include "pg/keep_requests.h"

#include <cstring>
#include <type_traits>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/keeper_processes.h"
#include "pg/shared_memory.h"

extern "C" {
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

AskingScans* asking_scans = nullptr;

namespace {

uint64 asked_plans = 0;  // by this process

constexpr int kPlaces = 32;
constexpr const char* kLockName = "gpujoin_keep_requests";
constexpr int kStartMs = 30000;    // for a keeper to come; then another one is started
constexpr int kAgainMs = 2000;     // the same is not asked for again so soon
constexpr int kFailedMs = 120000;  // nor what could not be kept

enum class Stage : uint8 { Free, Waiting, Taken, Kept, Failed };

struct Place {
    Stage stage;
    int keeper;     // Taken: the process that keeps it
    uint64 number;  // by which the request is known
    uint64 batch;
    TimestampTz since;
    KeepRequest request;
};

struct Keeper {
    Oid database;  // InvalidOid: the place is free
    int pid;       // 0: has not come yet
    TimestampTz since;
};

struct KeepRequests {
    uint64 build;
    Keeper keepers[kMostKeepers];
    Place places[kPlaces];
};

KeepRequests* requests = nullptr;
LWLock* lock = nullptr;

void attach(void* memory, LWLock* its_lock, bool /*is_new*/) {
    requests = static_cast<KeepRequests*>(memory);
    lock = its_lock;
}

constexpr SharedStruct kShared = {"gpujoin keep requests", sizeof(KeepRequests), kLockName, attach};

static_assert(std::has_unique_object_representations_v<WantedColumn>, "requests are compared as bytes");

Size used_bytes(const KeepRequest* request) {
    return offsetof(KeepRequest, text) + request->text_bytes;
}

uint64 number_of(const KeepRequest* request) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(request);
    return hash_bytes_extended(bytes, static_cast<int>(used_bytes(request)), 1);
}

// What a scan asks for that runs stands alone.
uint64 next_batch() {
    if (!asking_scans) asked_plans++;
    return static_cast<uint64>(MyProcPid) << 32 | asked_plans;
}

// --- With the lock held

bool is_over(const Place& place) {
    return place.stage != Stage::Waiting && place.stage != Stage::Taken;
}

// The request of a number, if it waits, is dealt with, or was a short time ago.
const Place* find_known(uint64 number, TimestampTz now) {
    for (const Place& place : requests->places) {
        if (place.stage == Stage::Free || place.number != number) continue;
        const int wait = place.stage == Stage::Failed && !RecoveryInProgress() ? kFailedMs : kAgainMs;
        if (!is_over(place) || !TimestampDifferenceExceeds(place.since, now, wait)) return &place;
    }
    return nullptr;
}

// The one that has waited longest.
Place* find_waiting(Oid database) {
    Place* first = nullptr;
    for (Place& place : requests->places)
        if (place.stage == Stage::Waiting && place.request.database == database &&
            (!first || place.since < first->since))
            first = &place;
    return first;
}

Keeper* find_keeper(Oid database) {
    for (Keeper& keeper : requests->keepers)
        if (keeper.database == database) return &keeper;
    return nullptr;
}

bool has_come_or_will(const Keeper* keeper, TimestampTz now) {
    return keeper && (keeper->pid != 0 || !TimestampDifferenceExceeds(keeper->since, now, kStartMs));
}

// One that was dealt with, or waits for a keeper that is no more: the first of them. nullptr: there is none.
Place* find_room(TimestampTz now) {
    Place* room = nullptr;
    for (Place& place : requests->places) {
        if (place.stage == Stage::Free) return &place;
        const bool is_left = is_over(place) || !has_come_or_will(find_keeper(place.request.database), now);
        if (is_left && (!room || place.since < room->since)) room = &place;
    }
    return room;
}

void leave(Oid database) {
    Keeper* keeper = find_keeper(database);
    if (keeper && keeper->pid == MyProcPid) *keeper = {};
}

// --- Keepers come and go

// With the lock held.
bool is_there_or_starts(Oid database, TimestampTz now) {
    Keeper* keeper = find_keeper(database);
    if (has_come_or_will(keeper, now)) return true;
    if (!keeper) keeper = find_keeper(InvalidOid);
    if (!keeper || !start_keeper(database)) return false;
    *keeper = {database, 0, now};
    return true;
}

// What it was about when it was ended by an error is not tried again soon; but on a standby, where that is
// mostly recovery, in whose way it was.
void on_exit(int, Datum database) {
    LWLockAcquire(lock, LW_EXCLUSIVE);
    leave(DatumGetObjectId(database));
    for (Place& place : requests->places)
        if (place.stage == Stage::Taken && place.keeper == MyProcPid) {
            place.stage = Stage::Failed;
            place.since = GetCurrentTimestamp();
        }
    LWLockRelease(lock);
}

}  // namespace

AskingScans* begin_asking(AskingScans* asking) {
    AskingScans* const before = asking_scans;
    asking_scans = asking;
    asked_plans++;
    return before;
}

void install_keep_requests() {
    install_shared_struct(&kShared);
}

KeepRequest* make_keep_request(Relation relation, const ChunkKey& files) {
    auto* request = zeroed<KeepRequest>();
    request->database = MyDatabaseId;
    request->table = RelationGetRelid(relation);
    request->files = files;
    return request;
}

void add_wanted_column(KeepRequest* request, Relation relation, WantedColumn column, Node* expression) {
    if (column.attribute > 0) {
        Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column.attribute - 1);
        column.type = attribute->atttypid;
        column.modifier = attribute->atttypmod;
    }
    const char* text = expression ? nodeToString(expression) : nullptr;
    const Size bytes = text ? strlen(text) + 1 : 0;
    if (request->count == kMaxKeptColumns || bytes > KeepRequest::kTextBytes - request->text_bytes) {
        request->cannot_be_asked = 1;
        return;
    }
    column.text = request->text_bytes;
    if (text) memcpy(request->text + request->text_bytes, text, bytes);
    request->text_bytes += static_cast<uint32>(bytes);
    request->columns[request->count++] = column;
}

bool call_keeper() {
    if (!requests) return false;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    const bool comes = is_there_or_starts(MyDatabaseId, GetCurrentTimestamp());
    LWLockRelease(lock);
    return comes;
}

bool hand_to_keeper(const KeepRequest* request) {
    if (!requests || request->cannot_be_asked != 0) return false;
    const uint64 number = number_of(request);
    const TimestampTz now = GetCurrentTimestamp();
    LWLockAcquire(lock, LW_EXCLUSIVE);
    const Place* known = find_known(number, now);
    Place* room = known ? nullptr : find_room(now);
    const bool was_dealt_with = known && is_over(*known);
    const bool is_taken = was_dealt_with || is_there_or_starts(request->database, now);
    if (is_taken && room) {
        room->stage = Stage::Waiting;
        room->number = number;
        room->batch = next_batch();
        room->since = now;
        memcpy(static_cast<void*>(&room->request), request, used_bytes(request));
    }
    LWLockRelease(lock);
    return is_taken;
}

void enter_keepers(Oid database) {
    if (!requests) proc_exit(0);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Keeper* keeper = find_keeper(database);
    const bool is_late = !keeper || keeper->pid != 0;  // another one has been started
    if (!is_late) keeper->pid = MyProcPid;
    LWLockRelease(lock);
    if (is_late) proc_exit(0);
    before_shmem_exit(on_exit, ObjectIdGetDatum(database));
}

KeepRequest* take_keep_request(Oid database, uint64* batch) {
    static KeepRequest taken;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    Place* first = find_waiting(database);
    if (first) {
        first->stage = Stage::Taken;
        first->keeper = MyProcPid;
        *batch = first->batch;
        memcpy(static_cast<void*>(&taken), &first->request, used_bytes(&first->request));
    }
    LWLockRelease(lock);
    return first ? &taken : nullptr;
}

bool is_keep_requested(Oid database) {
    LWLockAcquire(lock, LW_SHARED);
    const bool is_requested = find_waiting(database) != nullptr;
    LWLockRelease(lock);
    return is_requested;
}

bool leave_keepers(Oid database) {
    LWLockAcquire(lock, LW_EXCLUSIVE);
    const bool leaves = !find_waiting(database);
    if (leaves) leave(database);
    LWLockRelease(lock);
    return leaves;
}

void end_keep_request(bool is_kept) {
    LWLockAcquire(lock, LW_EXCLUSIVE);
    for (Place& place : requests->places)
        if (place.stage == Stage::Taken && place.keeper == MyProcPid) {
            place.stage = is_kept ? Stage::Kept : Stage::Failed;
            place.since = GetCurrentTimestamp();
        }
    LWLockRelease(lock);
}

}  // namespace gpujoin
