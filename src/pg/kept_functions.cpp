// The SQL functions behind the view gpujoin_kept and gpujoin_forget(); gpujoin_keep() is in
// executor/keep.cpp.
#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/compat.h"
#include "pg/extension_version.h"
#include "pg/kept_tables.h"
#include "pg/report.h"
#include "pg/settings.h"

extern "C" {
#include "access/table.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

SQL_FUNCTION(gpujoin_list_kept);
SQL_FUNCTION(gpujoin_forget);
}

namespace gpujoin {

namespace {

constexpr int kColumns = 7;

// Of the current database alone: what others' files belong to only they know. Files that have no relation any
// more are what a table had before it was written anew, or dropped.
void put_table(const KeptTable& kept, ReturnSetInfo* result) {
    const ChunkKey& key = kept.table;
    const char* database = get_database_name(key.database);
    const Oid relation =
        key.database == MyDatabaseId ? relation_of_files(key.tablespace, key.relation) : InvalidOid;
    Datum values[kColumns] = {
        database ? CStringGetTextDatum(database) : Datum{0}, ObjectIdGetDatum(relation),
        Int32GetDatum(static_cast<int32>(kept.columns)),     Int32GetDatum(static_cast<int32>(key.number)),
        Int64GetDatum(static_cast<int64>(kept.rows)),        Int64GetDatum(static_cast<int64>(kept.bytes)),
        Int64GetDatum(static_cast<int64>(kept.uses))};
    bool nulls[kColumns] = {database == nullptr, !OidIsValid(relation)};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// The table's files, of which chunks are named. Whoever may change a table may forget what is kept of it.
ChunkKey table_to_forget(Oid table) {
    Relation relation = table_open(table, AccessShareLock);
    if (!owns_relation(table, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(relation->rd_rel->relkind),
                       RelationGetRelationName(relation));
    RelationFiles files = relation_files(relation);
    table_close(relation, NoLock);
    return {files.database, files.tablespace, files.number, 0};
}

}  // namespace

}  // namespace gpujoin

Datum gpujoin_list_kept(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    if (result->setDesc->natts != kColumns) report_other_version(fcinfo);
    auto* tables = zeroed<KeptTablesBody>();
    Status why;
    if (!client_get_kept(tables, &why))
        ereport(WARNING, (errmsg_internal("%s", why.message),
                          why.detail[0] != '\0' ? errdetail_internal("%s", why.detail) : 0));
    for (uint32 i = 0; i < tables->count; i++) put_table(tables->table[i], result);
    return Datum{0};
}

Datum gpujoin_forget(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    ChunkKey table = {};
    if (!PG_ARGISNULL(0))
        table = table_to_forget(PG_GETARG_OID(0));
    else if (!superuser())
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied to forget the kept columns of all tables"),
                errhint("Name a table that you own; only superusers may forget all."));
    auto* left = zeroed<KeptTablesBody>();
    Status why;
    if (!client_forget_kept(table, left, &why)) report_failure(why);
    forget_kept_shares(table);
    PG_RETURN_VOID();
}
