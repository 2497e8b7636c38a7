// See vacuum_ends.h. A process that ends a transaction in which it has vacuumed a table, in whatever way,
// notes it before it gives up the table's lock. Who then gets the lock sees the note.
#include "pg/vacuum_ends.h"

#include <algorithm>

#include "pg/compat.h"
#include "pg/shared_memory.h"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/syscache.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kSets = 128;
constexpr uint32 kPlaces = 8;
constexpr const char* kLockName = "gpujoin_vacuum_ends";
constexpr int kMostLocked = 16;
constexpr LOCKMODE kVacuumLock = ShareUpdateExclusiveLock;

// What tells a table with its files from all others, also later ones by the same numbers.
struct TableVersion {
    RelationFiles files;
    Oid table;
    TransactionId row;  // who has written its row of pg_class; InvalidTransactionId: it cannot be told

    bool operator==(const TableVersion&) const = default;
};

struct WatchedTable {
    TableVersion version;  // of database InvalidOid: the place is free
    uint64 vacuumed_at;    // how far the log of changes had come at the end of the last vacuum that is known
    uint64 used_at;
};

struct VacuumEnds {
    uint64 build;
    uint64 clock;
    WatchedTable table[kSets][kPlaces];
};

VacuumEnds* ends = nullptr;
LWLock* lock = nullptr;

// On a standby vacuums are replayed, which nobody notes. Nothing is watched there, so that what was kept in
// recovery is older than all that is watched after it.
bool is_watching() {
    return ends && kOnlyVacuumSetsBits && !RecoveryInProgress();
}

TableVersion version_of(Relation relation) {
    TableVersion version = {relation_files(relation), RelationGetRelid(relation), InvalidTransactionId};
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(version.table));
    if (!HeapTupleIsValid(row)) return version;
    version.row = HeapTupleHeaderGetRawXmin(row->t_data);
    ReleaseSysCache(row);
    return version;
}

bool is_of_database(const WatchedTable& place) {
    return place.version.files.database == MyDatabaseId;
}

// The table's place, or that which makes room for it, with the lock held.
WatchedTable* place_of(Oid table) {
    const uint32 hash = hash_combine(murmurhash32(MyDatabaseId), murmurhash32(table));
    WatchedTable* stalest = nullptr;
    for (WatchedTable& place : ends->table[hash % kSets]) {
        if (is_of_database(place) && place.version.table == table) return &place;
        if (!stalest || place.used_at < stalest->used_at) stalest = &place;
    }
    return stalest;
}

// With the lock held exclusively. What was before is taken for a vacuum.
WatchedTable* watch(const TableVersion& version) {
    WatchedTable* place = place_of(version.table);
    if (place->version != version) *place = {version, GetXLogInsertRecPtr(), 0};
    place->used_at = ++ends->clock;
    return place;
}

LOCKTAG tag_of(Oid table) {
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, table);
    return tag;
}

// Tables whose lock this process has. More than these are all.
struct LockedTables {
    Oid table[kMostLocked];
    int count;
};

bool contains(const LockedTables& locked, Oid table) {
    const Oid* end = locked.table + std::min(locked.count, kMostLocked);
    return locked.count > kMostLocked || std::find(locked.table, end, table) != end;
}

LockedTables find_locked() {
    LockedTables locked = {};
    for (int part = 0; part < NUM_LOCK_PARTITIONS; part++)
        for_own_locks(part, [&locked](const PROCLOCK* own) {
            const LOCKTAG* tag = &own->tag.myLock->tag;
            const bool is_ours = tag->locktag_type == LOCKTAG_RELATION && tag->locktag_field1 == MyDatabaseId;
            if (!is_ours || !(own->holdMask & LOCKBIT_ON(kVacuumLock))) return;
            if (locked.count < kMostLocked) locked.table[locked.count] = tag->locktag_field2;
            locked.count++;
        });
    return locked;
}

void note_vacuums() {
    const LockedTables locked = find_locked();
    if (locked.count == 0) return;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    for (auto& set : ends->table)
        for (WatchedTable& place : set)
            if (is_of_database(place) && contains(locked, place.version.table))
                place.vacuumed_at = GetXLogInsertRecPtr();
    LWLockRelease(lock);
}

// In a transaction that fails there is nothing left that tells what it has done, but its locks are there
// still. Those that did something else with a lock of this kind do no harm.
void on_transaction_end(XactEvent event, void* /*nothing*/) {
    const bool has_vacuumed = event == XACT_EVENT_PRE_COMMIT && (MyProc->statusFlags & PROC_IN_VACUUM) != 0;
    const bool may_have_vacuumed = event == XACT_EVENT_ABORT && OidIsValid(MyDatabaseId);
    if (ends && (has_vacuumed || may_have_vacuumed)) note_vacuums();
}

void attach(void* memory, LWLock* its_lock, bool /*is_new*/) {
    ends = static_cast<VacuumEnds*>(memory);
    lock = its_lock;
}

constexpr SharedStruct kShared = {"gpujoin vacuum ends", sizeof(VacuumEnds), kLockName, attach};

}  // namespace

void install_vacuum_ends() {
    install_shared_struct(&kShared);
    RegisterXactCallback(on_transaction_end, nullptr);
}

void watch_vacuums(Relation relation) {
    if (!is_watching()) return;
    const TableVersion version = version_of(relation);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    watch(version);
    LWLockRelease(lock);
}

// Our own lock keeps others from asking at the same time, who would take each other for a vacuum. A process
// that vacuums the table itself is no better than another one that does.
uint64 unvacuumed_since(Relation relation) {
    if (!is_watching()) return PG_UINT64_MAX;
    const TableVersion version = version_of(relation);
    const LOCKTAG tag = tag_of(version.table);
    LWLockAcquire(lock, LW_EXCLUSIVE);
    const uint64 vacuumed_at = watch(version)->vacuumed_at;
    const bool is_free = !holds_lock(&tag, kVacuumLock) && try_lock(&tag, kVacuumLock);
    if (is_free) LockRelease(&tag, kVacuumLock, false);
    LWLockRelease(lock);
    return is_free ? vacuumed_at : PG_UINT64_MAX;
}

uint64 latest_vacuum_end(Relation relation) {
    if (!is_watching()) return PG_UINT64_MAX;
    const TableVersion version = version_of(relation);
    LWLockAcquire(lock, LW_SHARED);
    const WatchedTable* place = place_of(version.table);
    const uint64 end = place->version == version ? place->vacuumed_at : PG_UINT64_MAX;
    LWLockRelease(lock);
    return end;
}

}  // namespace gpujoin
