// The encoder of types that have no canonical bytes of their own: the value's hash. See init_hash_column().
#include "pg/executor/encoders.h"
#include "pg/allocate.h"

extern "C" {
#include "access/hash.h"
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace gpujoin {

struct KeyHash {
    FmgrInfo function;
    Oid collation;
};

namespace {

// The support functions of both sides in the first hash family that has the operator.
struct HashFunctions {
    Oid probe;
    Oid build;
    bool extended;
};

bool functions_in_family(Form_pg_amop entry, uint16 support, HashFunctions* found) {
    found->probe = get_opfamily_proc(entry->amopfamily, entry->amoplefttype, entry->amoplefttype, support);
    found->build = get_opfamily_proc(entry->amopfamily, entry->amoprighttype, entry->amoprighttype, support);
    found->extended = support == HASHEXTENDED_PROC;
    return OidIsValid(found->probe) && OidIsValid(found->build);
}

// Arrays, records and ranges have an extended hash function only if their elements do, whatever their family
// says.
bool have_extended_hashes(const List* arguments) {
    ListCell* cell;
    foreach (cell, arguments) {
        Oid type = exprType(static_cast<Node*>(lfirst(cell)));
        if (!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc))
            return false;
    }
    return true;
}

HashFunctions find_hash_functions(const OpExpr* clause) {
    HashFunctions found = {};
    bool extended = have_extended_hashes(clause->args);
    bool success = false;
    CatCList* entries = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(clause->opno));
    for (int i = 0; i < entries->n_members && !success; i++) {
        auto* entry = reinterpret_cast<Form_pg_amop>(GETSTRUCT(&entries->members[i]->tuple));
        if (entry->amopmethod != HASH_AM_OID || entry->amopstrategy != HTEqualStrategyNumber) continue;
        success = (extended && functions_in_family(entry, HASHEXTENDED_PROC, &found)) ||
                  functions_in_family(entry, HASHSTANDARD_PROC, &found);
    }
    ReleaseSysCacheList(entries);
    if (!success) elog(ERROR, "operator %u is not hashable", clause->opno);
    return found;
}

bool put_hash(InputColumn* column, uint32_t row, Datum value) {
    Datum hash = FunctionCall1Coll(&column->hash->function, column->hash->collation, value);
    reinterpret_cast<uint64_t*>(column->values)[row] = DatumGetUInt32(hash);
    return true;
}

bool put_extended_hash(InputColumn* column, uint32_t row, Datum value) {
    Datum hash =
        FunctionCall2Coll(&column->hash->function, column->hash->collation, value, UInt64GetDatum(0));
    reinterpret_cast<uint64_t*>(column->values)[row] = DatumGetUInt64(hash);
    return true;
}

}  // namespace

void init_hash_column(InputColumn* column, const OpExpr* clause, bool probe_side) {
    HashFunctions functions = find_hash_functions(clause);
    column->hash = zeroed<KeyHash>();
    fmgr_info(probe_side ? functions.probe : functions.build, &column->hash->function);
    column->hash->collation = clause->inputcollid;
    column->encoder = {functions.extended ? put_extended_hash : put_hash, nullptr};
}

}  // namespace gpujoin
