// See kept_sweep.h. Which files a table has is asked of the catalog as others have committed it: files that
// are not there yet for others are not kept, and those that a transaction is about to leave are there still.
#include "pg/kept_sweep.h"

#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/compat.h"
#include "pg/kept_tables.h"

extern "C" {
#include "miscadmin.h"
#include "utils/syscache.h"
}

namespace gpujoin {

namespace {

// What other databases have only they know.
bool is_gone(const ChunkKey& files) {
    if (files.database == MyDatabaseId)
        return !OidIsValid(relation_of_files(files.tablespace, files.relation));
    return !SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(files.database));
}

}  // namespace

void sweep_kept_files() {
    auto* kept = zeroed<KeptTablesBody>();
    auto* left = zeroed<KeptTablesBody>();
    Status why;
    bool goes_on = client_get_kept(kept, &why);
    for (uint32 i = 0; goes_on && i < kept->count; i++) {
        ChunkKey files = kept->table[i].table;
        files.number = 0;
        if (!is_gone(files)) continue;
        goes_on = client_forget_kept(files, left, &why);
        forget_kept_shares(files);
    }
    pfree(kept);
    pfree(left);
}

}  // namespace gpujoin
