// compat.h: PostgreSQL's headers as this extension needs them, and what differs between its major versions.
// Include it after C++ headers.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/heapam.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/wait_event.h"
}

// Everything is compiled with hidden visibility; what PostgreSQL looks up by name is exported with this. The
// server's own definition is empty before 16.
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))

// Declares a function that SQL may call; inside extern "C". (PG_FUNCTION_INFO_V1 alone does not export the
// function itself before 16.)
#define SQL_FUNCTION(name)                           \
    PGDLLEXPORT Datum name(FunctionCallInfo fcinfo); \
    PG_FUNCTION_INFO_V1(name)

namespace gpujoin {

// Warns about settings "gpujoin.*" that do not exist, and refuses new ones.
inline void reserve_setting_prefix(const char* prefix) {
#if PG_VERSION_NUM >= 150000
    MarkGUCPrefixReserved(prefix);
#else
    EmitWarningsOnPlaceholders(prefix);
#endif
}

// Makes a block the current page of a heap scan in page mode: pinned in rs_cbuf, pruned, the lines of its
// rs_ntuples visible tuples in rs_vistuples, serializable conflicts checked.
inline void read_heap_page(TableScanDesc scan, BlockNumber block) {
#if PG_VERSION_NUM >= 170000
    auto* heap = reinterpret_cast<HeapScanDesc>(scan);
    if (BufferIsValid(heap->rs_cbuf)) ReleaseBuffer(heap->rs_cbuf);
    heap->rs_cbuf = InvalidBuffer;
    CHECK_FOR_INTERRUPTS();
    heap->rs_cbuf = ReadBufferExtended(scan->rs_rd, MAIN_FORKNUM, block, RBM_NORMAL, heap->rs_strategy);
    heap->rs_cblock = block;
    heap_prepare_pagescan(scan);
#else
    heapgetpage(scan, block);
#endif
}

// Counts rows that a sequential scan has fetched, for the statistics views.
inline void count_rows_fetched(Relation relation, int64 rows) {
    if (!pgstat_should_count_relation(relation)) return;
#if PG_VERSION_NUM >= 160000
    relation->pgstat_info->counts.tuples_returned += rows;
#else
    relation->pgstat_info->t_counts.t_tuples_returned += rows;
#endif
}

}  // namespace gpujoin
