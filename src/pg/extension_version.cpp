// See extension_version.h.
#include "pg/extension_version.h"

#include <cstring>

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
}

namespace gpujoin {

namespace {

// nullptr: the function is of no extension.
const char* version_of_extension(Oid extension) {
    const char* version = nullptr;
    Relation catalog = table_open(ExtensionRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(extension));
    SysScanDesc scan = systable_beginscan(catalog, ExtensionOidIndexId, true, nullptr, 1, &key);
    if (HeapTuple tuple = systable_getnext(scan); HeapTupleIsValid(tuple)) {
        bool is_null;
        Datum value = heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(catalog), &is_null);
        if (!is_null) version = TextDatumGetCString(value);
    }
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
    return version;
}

const char* version_of(FunctionCallInfo fcinfo) {
    return version_of_extension(getExtensionOfObject(ProcedureRelationId, fcinfo->flinfo->fn_oid));
}

[[noreturn]] void report(const char* version) {
    const bool is_older = !version || strverscmp(version, GPUJOIN_VERSION) <= 0;
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("extension gpujoin has version %s in this database, the loaded library has version %s",
                   version ? version : "(none)", GPUJOIN_VERSION),
            is_older ? errhint("Execute ALTER EXTENSION gpujoin UPDATE.")
                     : errhint("Restart PostgreSQL, which then loads the library that is installed."));
    pg_unreachable();
}

}  // namespace

void report_other_version(FunctionCallInfo fcinfo) {
    report(version_of(fcinfo));
}

void require_same_version(FunctionCallInfo fcinfo) {
    const char* version = version_of(fcinfo);
    if (!version || strcmp(version, GPUJOIN_VERSION) != 0) report(version);
}

}  // namespace gpujoin
