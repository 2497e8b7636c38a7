// compat.h: PostgreSQL's headers as this extension needs them, and what differs between its major versions.
// Include it after C++ headers.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/heapam.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif
#include "utils/guc.h"
#include "utils/pg_locale.h"
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

// expression_tree_walker() and expression_tree_mutator(), which take callbacks without parameters before 16.
inline bool walk_expression(Node* node, bool (*walker)(Node*, void*), void* context) {
#if PG_VERSION_NUM >= 160000
    return expression_tree_walker_impl(node, walker, context);
#else
    auto untyped = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
    return expression_tree_walker(node, untyped, context);
#endif
}
inline Node* mutate_expression(Node* node, Node* (*mutator)(Node*, void*), void* context) {
#if PG_VERSION_NUM >= 160000
    return expression_tree_mutator_impl(node, mutator, context);
#else
    auto untyped = reinterpret_cast<Node* (*)()>(reinterpret_cast<void (*)()>(mutator));
    return expression_tree_mutator(node, untyped, context);
#endif
}

// Lets a Var or a PlaceHolderVar tell of the same outer joins below as another one.
inline void copy_nulling([[maybe_unused]] Node* to, [[maybe_unused]] const Node* from) {
#if PG_VERSION_NUM >= 160000
    if (IsA(from, Var))
        castNode(Var, to)->varnullingrels = reinterpret_cast<const Var*>(from)->varnullingrels;
    else
        castNode(PlaceHolderVar, to)->phnullingrels =
            reinterpret_cast<const PlaceHolderVar*>(from)->phnullingrels;
#endif
}

// The flag of a path whose node computes its target list, as all custom nodes do before 15.
#if PG_VERSION_NUM >= 150000
constexpr uint32 kProjects = CUSTOMPATH_SUPPORT_PROJECTION;
#else
constexpr uint32 kProjects = 0;
#endif

// Pseudoconstant conditions of a join are tested above it; before 17, only above joins of core's own.
constexpr bool kTestsPseudoconstants = PG_VERSION_NUM >= 170000;

// Tells the planner the conditions of a join, for the sake of the pseudoconstant ones.
inline void set_join_conditions([[maybe_unused]] CustomPath* path, [[maybe_unused]] List* restrictlist) {
#if PG_VERSION_NUM >= 170000
    path->custom_restrictinfo = restrictlist;
#endif
}

// Counts the nodes of disabled kinds (enable_... = off) below a path; before 18, costs tell of them.
inline void add_disabled_nodes([[maybe_unused]] Path* path, [[maybe_unused]] const Path* input) {
#if PG_VERSION_NUM >= 180000
    path->disabled_nodes += input->disabled_nodes;
#endif
}

// Whether a relation may keep a path of at least these costs. Disabled nodes are not counted: from 18 on the
// answer is yes more often than it need be.
inline bool passes_precheck(RelOptInfo* rel, Cost startup_cost, Cost total_cost) {
#if PG_VERSION_NUM >= 180000
    return add_path_precheck(rel, 0, startup_cost, total_cost, NIL, nullptr);
#else
    return add_path_precheck(rel, startup_cost, total_cost, NIL, nullptr);
#endif
}
inline bool passes_partial_precheck(RelOptInfo* rel, Cost total_cost) {
#if PG_VERSION_NUM >= 180000
    return add_partial_path_precheck(rel, 0, total_cost, NIL);
#else
    return add_partial_path_precheck(rel, total_cost, NIL);
#endif
}

// Does a collation order texts by their bytes?
inline bool orders_by_bytes(Oid collation) {
#if PG_VERSION_NUM >= 180000
    return pg_newlocale_from_collation(collation)->collate_is_c;
#else
    return lc_collate_is_c(collation);
#endif
}

// Makes the next block of a heap scan in page mode its current page: pinned in rs_cbuf, pruned, the lines of
// its rs_ntuples visible tuples in rs_vistuples, serializable conflicts checked. False after the last. From
// 17 on the scan's read stream chooses the blocks, and reads ahead; before, `next_block` does.
inline bool read_next_heap_page(HeapScanDesc scan, [[maybe_unused]] BlockNumber (*next_block)(HeapScanDesc)) {
#if PG_VERSION_NUM >= 170000
    if (BufferIsValid(scan->rs_cbuf)) ReleaseBuffer(scan->rs_cbuf);
    scan->rs_cbuf = InvalidBuffer;
    CHECK_FOR_INTERRUPTS();
    scan->rs_dir = ForwardScanDirection;
    scan->rs_cbuf = read_stream_next_buffer(scan->rs_read_stream, nullptr);
    if (!BufferIsValid(scan->rs_cbuf)) {
        scan->rs_prefetch_block = InvalidBlockNumber;
        return false;
    }
    scan->rs_cblock = BufferGetBlockNumber(scan->rs_cbuf);
    heap_prepare_pagescan(&scan->rs_base);
#else
    BlockNumber block = next_block(scan);
    if (block == InvalidBlockNumber) return false;
    scan->rs_inited = true;
    heapgetpage(&scan->rs_base, block);
#endif
    return true;
}

// Counts rows that a sequential scan has fetched, for the statistics views.
inline void count_rows_fetched(Relation relation, int64 rows) {
#if PG_VERSION_NUM >= 150000
    if (!pgstat_should_count_relation(relation)) return;
#else
    if (!relation->pgstat_info) return;
#endif
#if PG_VERSION_NUM >= 160000
    relation->pgstat_info->counts.tuples_returned += rows;
#else
    relation->pgstat_info->t_counts.t_tuples_returned += rows;
#endif
}

}  // namespace gpujoin
