// See vacuum_ends.h. A process that ends a transaction in which it has vacuumed a table, in whatever way,
// notes it before it gives up the table's lock. Who then gets the lock sees the note.
#include "pg/vacuum_ends.h"

#include <span>

#include "pg/compat.h"
#include "pg/shared_memory.h"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kSets = 128;
constexpr uint32 kPlaces = 8;
constexpr const char* kLockName = "gpujoin_vacuum_ends";
constexpr LOCKMODE kVacuumLock = ShareUpdateExclusiveLock;

struct WatchedTable {
    RelationFiles files;  // of what is no database (InvalidOid): the place is free
    Oid table;
    uint64 vacuumed_at;  // how far the log of changes had come at the end of the last vacuum that is known
    uint64 used_at;
};

struct VacuumEnds {
    uint64 build;
    uint64 clock;
    WatchedTable table[kSets][kPlaces];
};

VacuumEnds* ends = nullptr;
LWLock* lock = nullptr;

std::span<WatchedTable> set_of(Relation relation) {
    const uint32 hash = hash_combine(murmurhash32(MyDatabaseId), murmurhash32(RelationGetRelid(relation)));
    return ends->table[hash % kSets];
}

// The table's place, or that which makes room for it, with the lock held.
WatchedTable* place_of(Relation relation) {
    WatchedTable* stalest = nullptr;
    for (WatchedTable& place : set_of(relation)) {
        const bool is_its = place.files.database == MyDatabaseId && place.table == RelationGetRelid(relation);
        if (is_its) return &place;
        if (!stalest || place.used_at < stalest->used_at) stalest = &place;
    }
    return stalest;
}

bool is_watched(const WatchedTable* place, Relation relation) {
    return place->table == RelationGetRelid(relation) && place->files == relation_files(relation);
}

// With the lock held exclusively. What was before, or while its rows were in other files, is taken for a
// vacuum.
WatchedTable* watch(Relation relation) {
    WatchedTable* place = place_of(relation);
    if (!is_watched(place, relation))
        *place = {relation_files(relation), RelationGetRelid(relation), GetXLogInsertRecPtr(), 0};
    place->used_at = ++ends->clock;
    return place;
}

LOCKTAG tag_of(Oid table) {
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, table);
    return tag;
}

// each(place): for the tables that this transaction may have vacuumed.
template <typename Each>
void for_vacuumed(LWLockMode mode, const Each& each) {
    LWLockAcquire(lock, mode);
    for (auto& set : ends->table)
        for (WatchedTable& place : set) {
            if (place.files.database != MyDatabaseId) continue;
            const LOCKTAG tag = tag_of(place.table);
            if (holds_lock(&tag, kVacuumLock)) each(&place);
        }
    LWLockRelease(lock);
}

// Most transactions that fail have vacuumed nothing, and do not wait for each other here.
void note_vacuums() {
    bool has_vacuumed = false;
    for_vacuumed(LW_SHARED, [&](const WatchedTable*) { has_vacuumed = true; });
    if (has_vacuumed)
        for_vacuumed(LW_EXCLUSIVE, [](WatchedTable* place) { place->vacuumed_at = GetXLogInsertRecPtr(); });
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
    if (!ends) return;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    watch(relation);
    LWLockRelease(lock);
}

// Our own lock keeps others from asking at the same time, who would take each other for a vacuum.
bool is_unvacuumed_since(Relation relation, uint64 since) {
    if (!ends) return false;
    const LOCKTAG tag = tag_of(RelationGetRelid(relation));
    LWLockAcquire(lock, LW_EXCLUSIVE);
    bool is_unvacuumed = watch(relation)->vacuumed_at <= since;
    if (is_unvacuumed) {
        is_unvacuumed = try_lock(&tag, kVacuumLock);
        if (is_unvacuumed) LockRelease(&tag, kVacuumLock, false);
    }
    LWLockRelease(lock);
    return is_unvacuumed;
}

bool seems_unvacuumed_since(Relation relation, uint64 since) {
    if (!ends) return false;
    LWLockAcquire(lock, LW_SHARED);
    const WatchedTable* place = place_of(relation);
    const bool is_unvacuumed = is_watched(place, relation) && place->vacuumed_at <= since;
    LWLockRelease(lock);
    return is_unvacuumed;
}

}  // namespace gpujoin
