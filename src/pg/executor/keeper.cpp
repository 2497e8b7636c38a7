// The keeper of a database: a process that reads tables so that the server keeps columns of them, because
// backends have asked for them (keep_requests.h), and ends when nobody asks any more. It works in short
// transactions, so that who wants to alter a table or drop the database waits hardly longer than without:
// when it finds somebody waiting for either, it gives up. Reads nothing but what scans would, and shows
// nobody what it reads.
#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/keeping.h"
#include "pg/executor/kept_share.h"
#include "pg/executor/requested_columns.h"
#include "pg/kept_tables.h"
#include "pg/wait_events.h"

extern "C" {
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PGDLLEXPORT void gpujoin_keeper_main(Datum argument);
}

namespace gpujoin {

namespace {

constexpr int kTransactionMs = 200;  // after which the next one begins
constexpr int kPatienceMs = 500;
constexpr int kPollMs = 20;
constexpr int kBatchMs = 60;  // after which a batch has come to its end

// How far it has come with a request.
struct Keeping {
    uint32 chunks;  // of the table
    uint32 done;
    uint64 blocks;
    uint64 kept;
    bool has_failed;  // for want of room, or because it is not to be kept any more
};

// What has been kept for a plan is told when all of it is: it was asked for because together it makes the
// plan the cheapest. Plans that use some of it may be dearer than those before.
struct KeptNote {
    ChunkKey table;
    uint64 kept;
    uint64 blocks;
    Bitmapset* attributes;
};

uint64 noted_batch = 0;
bool is_batch_whole = true;
List* notes = NIL;  // of KeptNote, as those of all pointers here in the process's own context

void end_batch() {
    ListCell* cell;
    foreach (cell, notes) {
        auto* note = static_cast<KeptNote*>(lfirst(cell));
        if (is_batch_whole) note_kept_blocks(note->table, note->kept, note->blocks, note->attributes);
        bms_free(note->attributes);
    }
    list_free_deep(notes);
    notes = NIL;
    is_batch_whole = true;
}

void note_kept(const ChunkKey& table, uint64 kept, uint64 blocks, const Bitmapset* attributes) {
    MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);
    auto* note = zeroed<KeptNote>();
    *note = {table, kept, blocks, bms_copy(attributes)};
    notes = lappend(notes, note);
    MemoryContextSwitchTo(before);
}

// As backends do when they connect: whoever drops the database, or copies it, waits for those before.
bool lock_database() {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
    return LockAcquire(&tag, RowExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

// nullptr where it is gone, or somebody wants to alter it.
Relation open_table(Oid table) {
    if (!lock_database() || !ConditionalLockRelationOid(table, AccessShareLock)) return nullptr;
    return try_relation_open(table, NoLock);
}

Bitmapset* attributes_of(const KeptColumns* columns) {
    Bitmapset* attributes = nullptr;
    for (int i = 0; i < columns->count; i++) attributes = attributes_of_form(&columns->forms[i], attributes);
    return attributes;
}

void keep_chunks(Relation relation, const KeptColumns* columns, Keeping* keeping) {
    Client* client = open_to_keep(zeroed<FragmentSpec>());
    KeptMaker* maker = make_kept_maker(relation, columns);
    const TimestampTz start = GetCurrentTimestamp();
    while (keeping->done < keeping->chunks && !keeping->has_failed &&
           !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), kTransactionMs)) {
        uint64 kept = 0;
        keeping->has_failed = !keep_chunk(maker, client, relation, columns, keeping->done, keeping->blocks,
                                          Thoroughness::AsScans, &kept);
        keeping->kept += kept;
        keeping->done++;
    }
    client_close(client);
    if (keeping->done == keeping->chunks && !keeping->has_failed)
        note_kept(chunk_key(relation, 0), keeping->kept, keeping->blocks, attributes_of(columns));
}

// Some of its chunks, in a transaction.
void keep_some(const KeepRequest* request, Keeping* keeping) {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
    Relation relation = open_table(request->table);
    KeptColumns columns;
    keeping->has_failed =
        !relation || !find_requested(request, relation, &columns) || !may_keep_now(relation);
    if (!keeping->has_failed) {
        if (keeping->blocks == 0) {
            keeping->blocks = RelationGetNumberOfBlocks(relation);
            keeping->chunks = chunks_of_blocks(keeping->blocks);
        }
        keep_chunks(relation, &columns, keeping);
    }
    if (relation) relation_close(relation, NoLock);
    PopActiveSnapshot();
    CommitTransactionCommand();
}

bool keep(const KeepRequest* request) {
    Keeping keeping = {};
    do {
        CHECK_FOR_INTERRUPTS();
        keep_some(request, &keeping);
    } while (!keeping.has_failed && keeping.done < keeping.chunks);
    return !keeping.has_failed;
}

void keep_next(const KeepRequest* request, uint64 batch) {
    if (batch != noted_batch) end_batch();
    noted_batch = batch;
    const bool is_kept = keep(request);
    is_batch_whole &= is_kept;
    end_keep_request(is_kept);
}

// Until nobody has asked for a while: who has called may be about to ask, and who has asked to ask for more.
void keep_what_is_asked(Oid database) {
    for (int idle_ms = 0; idle_ms < kPatienceMs; idle_ms += kPollMs) {
        uint64 batch;
        while (const KeepRequest* request = take_keep_request(database, &batch)) {
            keep_next(request, batch);
            idle_ms = 0;
        }
        if (idle_ms >= kBatchMs) end_batch();
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPollMs,
                  wait_event(Wait::KeeperMain));
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace

}  // namespace gpujoin

void gpujoin_keeper_main(Datum argument) {
    using namespace gpujoin;
    const Oid database = DatumGetObjectId(argument);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    enter_keepers(database);
    BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
    DefaultXactIsoLevel = XACT_READ_COMMITTED;  // whatever was set for the database
    pgstat_report_activity(STATE_RUNNING, "keeping columns of tables");
    do {
        keep_what_is_asked(database);
    } while (!leave_keepers(database));
    proc_exit(0);
}
