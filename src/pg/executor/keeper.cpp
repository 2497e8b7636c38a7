// The keeper of a database: a process that reads tables so that the server keeps columns of them, because
// backends have asked for them (keep_requests.h), and ends when nobody asks any more. Helpers, which are
// processes, too, share the chunks of a table with it (keep_sharing.h). All work in short transactions, so
// that who wants to alter a table or drop the database waits hardly longer than without: when it finds
// somebody waiting for either, it gives up. Reads nothing but what scans would, or may soon, and shows nobody
// what it reads.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/anticipated_columns.h"
#include "pg/executor/keeping.h"
#include "pg/executor/kept_share.h"
#include "pg/executor/requested_columns.h"
#include "pg/keep_sharing.h"
#include "pg/kept_sweep.h"
#include "pg/kept_tables.h"
#include "pg/server_state.h"
#include "pg/wait_events.h"

extern "C" {
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PGDLLEXPORT void gpujoin_keeper_main(Datum argument);
PGDLLEXPORT void gpujoin_keeper_helper_main(Datum argument);
}

namespace gpujoin {

namespace {

constexpr int kTransactionMs = 200;  // after which the next one begins
constexpr int kPatienceMs = 500;
constexpr int kPollMs = 20;
constexpr int kBatchMs = 60;  // after which a batch has come to its end
constexpr int kNice = 5;

// What a keeper keeps now, or a helper with it.
struct Keeping {
    bool helps;
    bool is_shared;  // its chunks are: the table has been looked at
    ChunkKey table;
    uint64 blocks;
    Bitmapset* attributes;  // of its columns
    int count;              // of them
    ChunkColumn* columns;
    uint64 generation;  // of the server
};

// What has been kept for a plan is told when all of it is: it was asked for because together it makes the
// plan the cheapest. Plans that use some of it may be dearer than those before.
struct KeptNote {
    Keeping keeping;
    uint64 kept;
};

uint64 noted_batch = 0;
bool is_batch_whole = true;
List* notes = NIL;  // of KeptNote, as those of all pointers here in the process's own context

void tell(const Keeping& keeping, uint64 kept) {
    if (kept > 0) note_kept_forms(keeping.table, {keeping.columns, static_cast<size_t>(keeping.count)});
    note_kept_blocks(keeping.table, kept, keeping.blocks, keeping.attributes);
}

void forget(const Keeping& keeping) {
    bms_free(keeping.attributes);
    pfree(keeping.columns);
}

void end_batch() {
    ListCell* cell;
    foreach (cell, notes) {
        auto* note = static_cast<KeptNote*>(lfirst(cell));
        const Keeping& keeping = note->keeping;
        // Another server has kept nothing of what the one before had.
        if (is_batch_whole && keeping.generation == latest_server()) tell(keeping, note->kept);
        forget(keeping);
    }
    list_free_deep(notes);
    notes = NIL;
    is_batch_whole = true;
}

void note_kept(const Keeping& keeping, uint64 kept) {
    MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);
    auto* note = zeroed<KeptNote>();
    *note = {keeping, kept};
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

void begin_to_share(const KeepRequest* request, Relation relation, const KeptColumns* columns,
                    Keeping* keeping) {
    MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);
    const uint64 blocks = RelationGetNumberOfBlocks(relation);
    *keeping = {false,
                true,
                chunk_key(relation, 0),
                blocks,
                attributes_of(columns),
                columns->count,
                unset<ChunkColumn>(static_cast<Size>(columns->count)),
                latest_server()};
    std::copy_n(columns->columns, columns->count, keeping->columns);
    MemoryContextSwitchTo(before);
    share_chunks(request, blocks, chunks_of_blocks(blocks));
}

// Takes chunks as long as a transaction may last. False: there are none left.
bool keep_chunks(Relation relation, const KeptColumns* columns, uint64 blocks, Thoroughness thoroughness) {
    Client* client = open_to_keep(zeroed<FragmentSpec>());
    KeptMaker* maker = make_kept_maker(relation, columns);
    const TimestampTz start = GetCurrentTimestamp();
    bool is_over = false;
    uint32 chunk = 0;
    while (!TimestampDifferenceExceeds(start, GetCurrentTimestamp(), kTransactionMs)) {
        is_over = !take_chunk(&chunk);
        if (is_over) break;
        uint64 kept = 0;
        const bool is_kept = keep_chunk(maker, client, relation, columns, chunk, blocks, thoroughness, &kept);
        end_chunk(is_kept, kept);
    }
    client_close(client);
    return !is_over;
}

// Some of the chunks, in a transaction. False: there are none left, or the table is not to be kept.
bool keep_some(const KeepRequest* request, Keeping* keeping) {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
    Relation relation = open_table(request->table);
    KeptColumns columns;
    const bool may_keep = relation && find_requested(request, relation, &columns) && may_keep_now(relation);
    bool goes_on = false;
    if (may_keep) {
        if (!keeping->is_shared) begin_to_share(request, relation, &columns, keeping);
        if (!keeping->helps) call_helpers();
        goes_on = keep_chunks(relation, &columns, keeping->blocks,
                              request->patches_alone != 0 ? Thoroughness::Patches : Thoroughness::AsScans);
    } else {
        give_up_chunks();
    }
    if (relation) relation_close(relation, NoLock);
    PopActiveSnapshot();
    CommitTransactionCommand();
    return goes_on;
}

// The kernel may weigh sessions of processes against each other, of which each of PostgreSQL's processes is
// one, rather than processes. It is told once of this session, but may be told of one at a time only.
void tell_kernel_of_session() {
    static bool is_told = false;
    if (is_told) return;
    is_told = true;
    const int file = OpenTransientFile("/proc/self/autogroup", O_WRONLY);
    if (file < 0) return;
    char text[12];
    const int length = snprintf(text, sizeof text, "%d", kNice);
    if (write(file, text, static_cast<size_t>(length)) < 0) is_told = errno != EAGAIN;
    CloseTransientFile(file);
}

void wait_a_little() {
    tell_kernel_of_session();
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPollMs,
              wait_event(Wait::KeeperMain));
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

// The plan that asked for the request has asked for columns of the table before.
bool is_noted(const ChunkKey& table) {
    ListCell* cell;
    foreach (cell, notes)
        if (static_cast<KeptNote*>(lfirst(cell))->keeping.table == table) return true;
    return false;
}

// Columns of a table that nobody has asked for, to be kept when nobody asks.
struct Anticipated {
    Oid table;
    ChunkKey files;
};
List* anticipated = NIL;  // of Anticipated

// Another scan may have asked for the same.
bool is_kept_by_now(const KeepRequest* request, Relation relation) {
    KeptColumns asked;
    return !find_requested(request, relation, &asked) ||
           are_forms_kept(request->files, {asked.columns, static_cast<size_t>(asked.count)});
}

// Whether another query has asked for other columns of the table before. The server is asked before the table
// is locked.
bool is_to_be_anticipated(const KeepRequest* request) {
    if (request->is_kept != 0 || is_noted(request->files)) return false;
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    const bool has_room = room_for_anticipated(request->files) > 0;
    Relation relation = has_room ? open_table(request->table) : nullptr;
    const bool is_news = relation && !is_kept_by_now(request, relation);
    if (relation) relation_close(relation, NoLock);
    CommitTransactionCommand();
    return is_news;
}

void anticipate(const KeepRequest* request) {
    MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);
    auto* more = zeroed<Anticipated>();
    *more = {request->table, request->files};
    anticipated = lappend(anticipated, more);
    MemoryContextSwitchTo(before);
}

// nullptr: nothing.
KeepRequest* request_anticipated(const Anticipated* more) {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    KeepRequest* request = nullptr;
    const double room = room_for_anticipated(more->files);
    if (Relation relation = room > 0 ? open_table(more->table) : nullptr) {
        if (const KeepRequest* made = anticipate_columns(relation, more->files, room)) {
            MemoryContext before = MemoryContextSwitchTo(TopMemoryContext);
            request = unset<KeepRequest>();
            MemoryContextSwitchTo(before);
            *request = *made;
        }
        relation_close(relation, NoLock);
    }
    CommitTransactionCommand();
    return request;
}

// may_wait: until nobody asks for anything else.
bool keep_columns(KeepRequest* request, bool may_wait) {
    Keeping keeping = {};
    while (keep_some(request, &keeping)) {
        CHECK_FOR_INTERRUPTS();
        if (may_wait && is_keep_requested(request->database)) give_up_chunks();
    }
    if (!keeping.is_shared) return false;
    SharedKeeping shared = shared_keeping();
    for (; !shared.is_over; shared = shared_keeping()) wait_a_little();
    end_sharing();
    if (shared.has_failed)
        forget(keeping);
    else
        note_kept(keeping, shared.kept);
    return !shared.has_failed;
}

// What is gone makes room.
void sweep() {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    if (lock_database()) sweep_kept_files();
    CommitTransactionCommand();
}

bool keep(KeepRequest* request) {
    sweep();
    const bool has_more = is_to_be_anticipated(request);
    const bool is_kept = keep_columns(request, false);
    if (is_kept && has_more) anticipate(request);
    return is_kept;
}

// False: there is nothing to be done. What gives way to a request goes on after it, with chunks that are
// there.
bool keep_anticipated(Oid database) {
    if (anticipated == NIL || is_keep_requested(database)) return false;
    auto* more = static_cast<Anticipated*>(linitial(anticipated));
    KeepRequest* request = request_anticipated(more);
    const bool is_over = !request || keep_columns(request, true) || !is_keep_requested(database);
    if (request) pfree(request);
    end_batch();
    if (!is_over) return true;
    anticipated = list_delete_first(anticipated);
    pfree(more);
    return true;
}

void keep_next(KeepRequest* request, uint64 batch) {
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
        while (KeepRequest* request = take_keep_request(database, &batch)) {
            keep_next(request, batch);
            idle_ms = 0;
        }
        if (idle_ms >= kBatchMs) {
            end_batch();
            if (keep_anticipated(database)) idle_ms = 0;
        }
        wait_a_little();
    }
}

// Until nothing has been shared for a while.
void help() {
    for (int idle_ms = 0; idle_ms < kPatienceMs; idle_ms += kPollMs) {
        Keeping keeping = {};
        keeping.helps = keeping.is_shared = true;
        while (const KeepRequest* request = join_sharing(&keeping.blocks)) {
            while (keep_some(request, &keeping)) CHECK_FOR_INTERRUPTS();
            idle_ms = 0;
        }
        wait_a_little();
    }
}

void connect(Oid database) {
    BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
    DefaultXactIsoLevel = XACT_READ_COMMITTED;  // whatever was set for the database
    // Queries go first where processors are short, but not so far that nothing is kept: where all are busy
    // this gets a third of what a query's process gets. Nothing relies on it.
    errno = 0;
    if (nice(kNice) < 0 && errno != 0) elog(DEBUG1, "could not lower the priority: %m");
    tell_kernel_of_session();
    pgstat_report_activity(STATE_RUNNING, "keeping columns of tables");
}

}  // namespace

}  // namespace gpujoin

void gpujoin_keeper_main(Datum argument) {
    using namespace gpujoin;
    const Oid database = DatumGetObjectId(argument);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    enter_keepers(database);
    enter_sharing();
    connect(database);
    do {
        keep_what_is_asked(database);
    } while (!leave_keepers(database));
    proc_exit(0);
}

void gpujoin_keeper_helper_main(Datum argument) {
    using namespace gpujoin;
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    const Oid database = DatumGetObjectId(argument);
    enter_helpers(database);
    connect(database);
    help();
    proc_exit(0);
}
