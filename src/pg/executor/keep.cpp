// gpujoin_keep(table, columns): reads a table so that the server keeps columns of it, before a query needs
// them. What proves that they are still true, and how they are used, is the same as where scans keep them
// (docs/design.md, Kept columns): a chunk is made of the blocks that are proven now.
#include <algorithm>

#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/compat.h"
#include "pg/executor/keeping.h"
#include "pg/executor/kept_share.h"
#include "pg/extension_version.h"
#include "pg/kept_sweep.h"
#include "pg/kept_tables.h"
#include "pg/report.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

SQL_FUNCTION(gpujoin_keep);
}

namespace gpujoin {

namespace {

constexpr long kReportMs = 10000;
constexpr uint64 kTimesOfBlocks = 2;  // more than that many columns do not take

struct Progress {
    const char* table;
    uint32 chunks;
    uint32 done;
    uint32 failed;  // for which there was no room
    uint64 blocks;
    uint64 kept;
    TimestampTz reported_at;
};

// --- What may be kept

void require_keeping() {
    if (!kKeepsColumns)
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("columns are kept of tables with blocks of 8 kB only"),
                errdetail("This server's blocks have %d bytes.", BLCKSZ));
    if (setting_keep_memory == 0 || (server_is_ready() && server_keep_memory() == 0))
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("no columns are kept, because gpujoin.keep_memory is 0"),
            setting_keep_memory < 0 ? errdetail("It is by default where shared_buffers take all memory.") : 0,
            errhint("Set gpujoin.keep_memory in postgresql.conf and reload it."));
}

void require_kind(Relation relation) {
    const char* name = RelationGetRelationName(relation);
    const char kind = relation->rd_rel->relkind;
    if (kind == RELKIND_PARTITIONED_TABLE)
        ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("columns of \"%s\" cannot be kept", name),
                errdetail("Partitioned tables have no rows of their own."), errhint("Name its partitions."));
    if (kind != RELKIND_RELATION)
        ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("columns of \"%s\" cannot be kept", name),
                errdetail_relkind_not_supported(kind));
    if (IsCatalogRelation(relation))
        ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("columns of \"%s\" cannot be kept", name),
                errdetail("This is a system catalog."));
    if (relation->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
        ereport(
            ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("columns of \"%s\" cannot be kept", name),
            errdetail("Only of tables whose changes are logged can it be known that they have not changed."));
    if (relation->rd_rel->relam != HEAP_TABLE_AM_OID)
        ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("columns of \"%s\" cannot be kept", name),
                errdetail("Its access method is not heap."));
}

// As scans ask; there the outcome is that nothing is kept.
void require_transaction(Relation relation) {
    if (may_keep_now(relation)) return;
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("columns of \"%s\" cannot be kept at present", RelationGetRelationName(relation)),
            errdetail("The transaction has made or locked the table, is serializable, or began before this "
                      "standby was promoted, or old_snapshot_threshold is set."));
}

void require_privileges(Relation relation, const Bitmapset* attributes) {
    const Oid table = RelationGetRelid(relation);
    if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK) return;
    for (int number = -1; (number = bms_next_member(attributes, number)) >= 0;)
        if (pg_attribute_aclcheck(table, static_cast<AttrNumber>(number), GetUserId(), ACL_SELECT) !=
            ACLCHECK_OK)
            aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(relation));
}

// --- Which columns, and how

// By name, as the caller has them.
Bitmapset* named_attributes(Relation relation, ArrayType* names) {
    Datum* elements;
    bool* nulls;
    int count;
    if (ARR_NDIM(names) > 1)
        ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                errmsg("the list of columns must have one dimension"));
    deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
    Bitmapset* attributes = nullptr;
    for (int i = 0; i < count; i++) {
        if (nulls[i])
            ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("names of columns must not be null"));
        const char* name = TextDatumGetCString(elements[i]);
        const AttrNumber number = get_attnum(RelationGetRelid(relation), name);
        if (number <= 0)
            ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", name,
                           RelationGetRelationName(relation)));
        Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), number - 1);
        if (KeptForm form; !natural_form(attribute, &form))
            ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("column \"%s\" cannot be kept", name),
                    errdetail("The engine has no form for values of type %s.",
                              format_type_be(attribute->atttypid)));
        attributes = bms_add_member(attributes, number);
    }
    return attributes;
}

// All that can be kept.
Bitmapset* all_attributes(Relation relation) {
    Bitmapset* attributes = nullptr;
    for (int i = 0; i < RelationGetNumberOfAttributes(relation); i++) {
        Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), i);
        KeptForm form;
        if (!attribute->attisdropped && natural_form(attribute, &form))
            attributes = bms_add_member(attributes, attribute->attnum);
    }
    return attributes;
}

// The next of them, from *last on, so many as a message names.
KeptColumns* next_columns(Relation relation, const Bitmapset* attributes, int* last) {
    auto* columns = unset<KeptColumns>();
    *columns = make_kept_columns(kMaxKeptColumns);
    while (columns->count < int{kMaxKeptColumns} && (*last = bms_next_member(attributes, *last)) >= 0) {
        KeptForm form;
        natural_form(TupleDescAttr(RelationGetDescr(relation), *last - 1), &form);
        add_kept_column(columns, relation, &form);
    }
    return columns;
}

// --- Keeping them

void report_progress(Progress* progress) {
    const TimestampTz now = GetCurrentTimestamp();
    if (!TimestampDifferenceExceeds(progress->reported_at, now, kReportMs)) return;
    progress->reported_at = now;
    ereport(NOTICE, errmsg("keeping columns of \"%s\": %u of %u chunks are done", progress->table,
                           progress->done, progress->chunks));
}

void keep_columns(Relation relation, Client* client, const KeptColumns* columns, Progress* progress) {
    KeptMaker* maker = make_kept_maker(relation, columns);
    progress->kept = progress->done = 0;
    for (uint32 chunk = 0; chunk < progress->chunks; chunk++, progress->done++) {
        report_progress(progress);
        uint64 kept = 0;
        if (!keep_chunk(maker, client, relation, columns, chunk, progress->blocks, Thoroughness::Everything,
                        &kept))
            progress->failed++;
        progress->kept += kept;
    }
    if (progress->kept > 0 && progress->failed == 0)
        note_kept_forms(chunk_key(relation, 0), {columns->columns, static_cast<size_t>(columns->count)});
}

bool is_new_block(Relation relation, BlockNumber block) {
    CHECK_FOR_INTERRUPTS();
    Buffer buffer = ReadBuffer(relation, block);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    const bool is_new = PageIsNew(gpujoin_buffer_page(buffer));
    UnlockReleaseBuffer(buffer);
    return is_new;
}

// Without the last ones that have not been written yet, since tables grow by several blocks at once: there is
// no row in them, and VACUUM leaves them as they are.
uint64 count_written_blocks(Relation relation, uint64 blocks) {
    while (blocks > 0 && is_new_block(relation, static_cast<BlockNumber>(blocks - 1))) blocks--;
    return blocks;
}

// Chunks that are not kept: there is no room for one, or others were about to keep it, or to change it, each
// time that it was tried.
void report_failed(const Progress& progress, const KeptTablesBody& tables) {
    const uint64 room = tables.limit - Min(tables.used, tables.limit);
    if (room >= kTimesOfBlocks * Min(progress.blocks, uint64{kChunkBlocks}) * BLCKSZ)
        ereport(ERROR, errcode(ERRCODE_OBJECT_IN_USE),
                errmsg("columns of \"%s\" could not be kept", progress.table),
                errdetail("Others keep or change %u of its %u chunks at the moment.", progress.failed,
                          progress.chunks),
                errhint("Try again."));
    ereport(
        ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
        errmsg("there is not enough room in gpujoin.keep_memory for the columns of \"%s\"", progress.table),
        errdetail("%u of its %u chunks are not kept; of " UINT64_FORMAT " MB " UINT64_FORMAT " are in use.",
                  progress.failed, progress.chunks, tables.limit >> 20, tables.used >> 20),
        errhint("Raise gpujoin.keep_memory, name fewer columns, or gpujoin_forget() other tables."));
}

// Also of blocks that are not proven.
void report_rest(Relation relation, const Progress& progress) {
    auto* tables = zeroed<KeptTablesBody>();
    Status why;
    if (progress.failed > 0 && client_get_kept(tables, &why)) report_failed(progress, *tables);
    const uint64 blocks = count_written_blocks(relation, progress.blocks);
    if (progress.kept < blocks)
        ereport(NOTICE,
                errmsg(UINT64_FORMAT " of " UINT64_FORMAT " blocks of \"%s\" are kept", progress.kept, blocks,
                       progress.table),
                errhint("VACUUM the table%s: rows of the other blocks may not be visible to all.",
                        RecoveryInProgress() ? " on the primary" : ""));
}

uint64 keep(Relation relation, const Bitmapset* attributes) {
    const uint64 blocks = RelationGetNumberOfBlocks(relation);
    Progress progress = {};
    progress.table = RelationGetRelationName(relation);
    progress.blocks = progress.kept = blocks;
    progress.chunks = chunks_of_blocks(blocks);
    progress.reported_at = GetCurrentTimestamp();
    Client* client = open_to_keep(zeroed<FragmentSpec>());
    uint64 fewest = blocks;
    for (int last = -1; last != -2 && !bms_is_empty(attributes);) {
        KeptColumns* columns = next_columns(relation, attributes, &last);
        if (columns->count > 0) keep_columns(relation, client, columns, &progress);
        fewest = std::min(fewest, progress.kept);
    }
    client_close(client);
    note_kept_blocks(chunk_key(relation, 0), fewest, blocks, attributes);
    report_rest(relation, progress);
    return fewest;
}

}  // namespace

}  // namespace gpujoin

Datum gpujoin_keep(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    require_keeping();
    Relation relation = relation_open(PG_GETARG_OID(0), AccessShareLock);
    require_kind(relation);
    Bitmapset* attributes =
        PG_ARGISNULL(1) ? all_attributes(relation) : named_attributes(relation, PG_GETARG_ARRAYTYPE_P(1));
    if (bms_is_empty(attributes))
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("there is no column of \"%s\" to keep", RelationGetRelationName(relation)));
    require_privileges(relation, attributes);
    require_transaction(relation);
    sweep_kept_files();
    uint64 kept = keep(relation, attributes);
    relation_close(relation, NoLock);
    PG_RETURN_INT64(static_cast<int64>(kept));
}
