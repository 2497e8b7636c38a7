// compat.h: PostgreSQL's headers as this extension needs them, and what differs between its major versions.
// Include it after C++ headers.
#pragma once

// What PostgreSQL's headers include of ICU is its C interface, as newer minor versions say themselves: C++ is
// not for inside extern "C".
#undef U_SHOW_CPLUSPLUS_API
#define U_SHOW_CPLUSPLUS_API 0
#undef U_SHOW_CPLUSPLUS_HEADER_API
#define U_SHOW_CPLUSPLUS_HEADER_API 0

extern "C" {
#include "postgres.h"
#include "access/heapam.h"
#include "commands/defrem.h"
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
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif
#include "storage/ipc.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#if PG_VERSION_NUM >= 160000
#include "utils/relfilenumbermap.h"
#else
#include "utils/relfilenodemap.h"
#endif
#include "utils/snapmgr.h"
#include "utils/wait_event.h"
}

#if PG_VERSION_NUM < 150000
#error "gpujoin needs PostgreSQL 15 or later"
#endif

// Everything is compiled with hidden visibility; what PostgreSQL looks up by name is exported with this. The
// server's own definition is empty before 16.
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))

// The last parameter of ExecutorRun(), which is gone from 18 on.
#if PG_VERSION_NUM >= 180000
#define RUN_ONCE_PARAMETER
#define RUN_ONCE_ARGUMENT
#else
#define RUN_ONCE_PARAMETER , bool once
#define RUN_ONCE_ARGUMENT , once
#endif

// Declares a function that SQL may call; inside extern "C". (PG_FUNCTION_INFO_V1 alone does not export the
// function itself before 16.)
#define SQL_FUNCTION(name)                           \
    PGDLLEXPORT Datum name(FunctionCallInfo fcinfo); \
    PG_FUNCTION_INFO_V1(name)

// BufferGetPage(), a macro before 16 that names a type: gpujoin has a Block of its own.
inline Page gpujoin_buffer_page(Buffer buffer) {
    return BufferGetPage(buffer);
}

namespace gpujoin {

// Whether these are all that a query joins. From 16 on outer joins count, too.
inline bool is_of_all_relations(const PlannerInfo* root, const RelOptInfo* rel) {
#if PG_VERSION_NUM >= 160000
    return bms_equal(rel->relids, root->all_query_rels);
#else
    return bms_equal(rel->relids, root->all_baserels);
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

// query_tree_walker() with the range table's entries, and planstate_tree_walker(): the same.
inline bool walk_query(Query* query, bool (*walker)(Node*, void*), void* context) {
#if PG_VERSION_NUM >= 160000
    return query_tree_walker_impl(query, walker, context, QTW_EXAMINE_RTES_BEFORE);
#else
    auto untyped = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
    return query_tree_walker(query, untyped, context, QTW_EXAMINE_RTES_BEFORE);
#endif
}
inline bool walk_plan_states(PlanState* state, bool (*walker)(PlanState*, void*), void* context) {
#if PG_VERSION_NUM >= 160000
    return planstate_tree_walker_impl(state, walker, context);
#else
    auto untyped = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
    return planstate_tree_walker(state, untyped, context);
#endif
}

// Does EXPLAIN show columns with the names of their tables? From 18 on a range table may have entries of
// groups.
inline bool shows_table_names(const ExplainState* es) {
#if PG_VERSION_NUM >= 180000
    return es->rtable_size > 1 || es->verbose;
#else
    return list_length(es->rtable) > 1 || es->verbose;
#endif
}

// EXPLAIN of one query, as core does it where no hook takes its place.
inline void explain_query(Query* query, int options, IntoClause* into, ExplainState* es, const char* text,
                          ParamListInfo parameters, QueryEnvironment* environment) {
#if PG_VERSION_NUM >= 170000
    standard_ExplainOneQuery(query, options, into, es, text, parameters, environment);
#else
    instr_time begin, duration;
    BufferUsage before = pgBufferUsage;
    BufferUsage used = {};
    INSTR_TIME_SET_CURRENT(begin);
    PlannedStmt* plan = pg_plan_query(query, text, options, parameters);
    INSTR_TIME_SET_CURRENT(duration);
    INSTR_TIME_SUBTRACT(duration, begin);
    BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
    ExplainOnePlan(plan, into, es, text, parameters, environment, &duration, es->buffers ? &used : nullptr);
#endif
}

// Whether a relation has columns that are computed when they are read.
inline bool has_virtual_columns([[maybe_unused]] Oid relation) {
#if PG_VERSION_NUM >= 180000
    Relation opened = table_open(relation, NoLock);
    const TupleConstr* constraints = RelationGetDescr(opened)->constr;
    const bool has = constraints && constraints->has_generated_virtual;
    table_close(opened, NoLock);
    return has;
#else
    return false;
#endif
}

// Whether no row has NULL in a column; from 18 on a constraint may be declared before that is looked at.
inline bool has_valid_not_null(TupleDesc columns, AttrNumber number) {
#if PG_VERSION_NUM >= 180000
    return TupleDescCompactAttr(columns, number - 1)->attnullability == ATTNULLABLE_VALID;
#else
    return TupleDescAttr(columns, number - 1)->attnotnull;
#endif
}

// How many nodes of a plan are of a kind that is switched off; up to 17 they have a cost instead.
inline int disabled_nodes([[maybe_unused]] const Plan* plan) {
#if PG_VERSION_NUM >= 180000
    return plan->disabled_nodes;
#else
    return 0;
#endif
}

// A wait that pg_stat_activity shows by this name; before 17, as "Extension".
inline uint32 make_wait_event([[maybe_unused]] const char* name) {
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    return PG_WAIT_EXTENSION;
#endif
}

// Whether the current user may read what the statement reads.
inline bool may_read_tables_of(const PlannedStmt* statement) {
#if PG_VERSION_NUM >= 160000
    return ExecCheckPermissions(statement->rtable, statement->permInfos, false);
#else
    return ExecCheckRTPerms(statement->rtable, false);
#endif
}

// Vars and PlaceHolderVars tell of the outer joins below them.
inline constexpr bool kTellsNulling = PG_VERSION_NUM >= 160000;

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

// The difference of two timestamps that is no bigint of microseconds: an error from 17 on, before 2^64 more
// or less than it is.
inline constexpr bool kTimestampDifferencesWrap = PG_VERSION_NUM < 170000;

// Pseudoconstant conditions of a join are tested above it; before 17, only above joins of core's own.
inline constexpr bool kTestsPseudoconstants = PG_VERSION_NUM >= 170000;

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

inline bool has_disabled_nodes([[maybe_unused]] const Path* path) {
#if PG_VERSION_NUM >= 180000
    return path->disabled_nodes > 0;
#else
    return false;
#endif
}

// Whether a path has one in it; before 18 its cost says so, and nothing else.
inline bool is_disabled(const Path* path) {
    constexpr Cost kDisabled = 1e10;
    return path->total_cost >= kDisabled || has_disabled_nodes(path);
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

// The shared buffer that follows another one, if it seems to hold the block: a table that was read at one go
// lies in a row. It may be given to another block at any time.
inline Buffer guess_buffer(Buffer last, BlockNumber block) {
    if (last <= 0 || last >= NBuffers) return InvalidBuffer;  // none, a local one, the last there is
    return GetBufferDescriptor(last)->tag.blockNum == block ? last + 1 : InvalidBuffer;
}

// The buffer that holds the block, if there is one. It is not pinned, and may be given to another one at any
// time.
inline Buffer find_buffer(Relation relation, Buffer last, BlockNumber block) {
    const Buffer guess = guess_buffer(last, block);
    if (BufferIsValid(guess) || RelationUsesLocalBuffers(relation)) return guess;
    BufferTag tag;
#if PG_VERSION_NUM >= 160000
    InitBufferTag(&tag, &relation->rd_locator, MAIN_FORKNUM, block);
#else
    INIT_BUFFERTAG(tag, relation->rd_node, MAIN_FORKNUM, block);
#endif
    const uint32 hash = BufTableHashCode(&tag);
    LWLock* lock = BufMappingPartitionLock(hash);
    LWLockAcquire(lock, LW_SHARED);
    const int found = BufTableLookup(&tag, hash);
    LWLockRelease(lock);
    return found + 1;  // -1: none
}

// Lists the page's tuples where all are visible to all, and nobody asks who reads them: line pointers will
// do.
inline int list_all_tuples(Page page, OffsetNumber* lines) {
    OffsetNumber last = PageGetMaxOffsetNumber(page);
    int count = 0;
    for (OffsetNumber line = FirstOffsetNumber; line <= last; line++) {
        lines[count] = line;
        count += ItemIdIsNormal(PageGetItemId(page, line));
    }
    return count;
}

// What names the files of a relation.
struct RelationFiles {
    Oid database;
    Oid tablespace;
    Oid number;

    bool operator==(const RelationFiles&) const = default;
};
inline RelationFiles relation_files(Relation relation) {
#if PG_VERSION_NUM >= 160000
    return {relation->rd_locator.dbOid, relation->rd_locator.spcOid, relation->rd_locator.relNumber};
#else
    return {relation->rd_node.dbNode, relation->rd_node.spcNode, relation->rd_node.relNode};
#endif
}

// The relation of the current database whose files these are; InvalidOid: there is none.
inline Oid relation_of_files(Oid tablespace, Oid number) {
#if PG_VERSION_NUM >= 160000
    return RelidByRelfilenumber(tablespace, number);
#else
    return RelidByRelfilenode(tablespace, number);
#endif
}

inline bool owns_relation(Oid relation, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation, role);
#else
    return pg_class_ownercheck(relation, role);
#endif
}

// Whether this transaction has made the relation or its files.
inline bool is_new_in_transaction(Relation relation) {
#if PG_VERSION_NUM >= 160000
    return relation->rd_createSubid != InvalidSubTransactionId ||
           relation->rd_newRelfilelocatorSubid != InvalidSubTransactionId ||
           relation->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
    return relation->rd_createSubid != InvalidSubTransactionId ||
           relation->rd_newRelfilenodeSubid != InvalidSubTransactionId ||
           relation->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

// Whether nothing but VACUUM sets bits of the map of a table that others can see.
inline constexpr bool kOnlyVacuumSetsBits = PG_VERSION_NUM < 190000;

// Takes a lock for this transaction if it need not wait for it.
inline bool try_lock(const LOCKTAG* tag, LOCKMODE mode) {
#if PG_VERSION_NUM >= 180000
    return LockAcquireExtended(tag, mode, false, true, false, nullptr, false) != LOCKACQUIRE_NOT_AVAIL;
#else
    return LockAcquireExtended(tag, mode, false, true, false, nullptr) != LOCKACQUIRE_NOT_AVAIL;
#endif
}

// Whether this process has it, in this mode.
inline bool holds_lock(const LOCKTAG* tag, LOCKMODE mode) {
#if PG_VERSION_NUM >= 170000
    return LockHeldByMe(tag, mode, false);
#else
    return LockHeldByMe(tag, mode);
#endif
}

// The locks that this process has in a part of the shared table of locks, where those are of which others may
// have to know; each(lock), with the part locked.
template <typename Each>
void for_own_locks(int part, const Each& each) {
#if PG_VERSION_NUM >= 160000
    const auto* head = &MyProc->myProcLocks[part].head;
#else
    const auto* head = &MyProc->myProcLocks[part];
#endif
    if (head->next == head) return;
    LWLock* lock = LockHashPartitionLockByIndex(part);
    LWLockAcquire(lock, LW_SHARED);
    for (const auto* at = head->next; at != head; at = at->next)
        each(reinterpret_cast<const PROCLOCK*>(reinterpret_cast<const char*>(at) -
                                               offsetof(PROCLOCK, procLink)));
    LWLockRelease(lock);
}

// Whether rows that a snapshot sees may be removed early (old_snapshot_threshold, until 16).
inline bool may_lack_old_rows() {
#if PG_VERSION_NUM >= 170000
    return false;
#else
    return old_snapshot_threshold >= 0;
#endif
}

// The visibility map's page has bits for so many blocks as chunks go by with pages of 8 kB only.
inline constexpr bool kKeepsColumns = BLCKSZ == 8192;

// Pins the buffer, if it is the block's still.
inline bool pin_buffer_of(Relation relation, BlockNumber block, Buffer buffer) {
#if PG_VERSION_NUM >= 160000
    return ReadRecentBuffer(relation->rd_locator, MAIN_FORKNUM, block, buffer);
#else
    return ReadRecentBuffer(relation->rd_node, MAIN_FORKNUM, block, buffer);
#endif
}

#if PG_VERSION_NUM < 170000
// Pins a block in the buffer where it is guessed to be, as ReadBufferExtended() does, but for the search,
// which costs several cache misses. That raises the usage count too, so that it is left to those that have
// enough.
inline bool pin_guessed(Relation relation, BufferAccessStrategy strategy, BlockNumber block, Buffer buffer) {
    if (!BufferIsValid(buffer)) return false;
    uint32 state = pg_atomic_read_u32(&GetBufferDescriptor(buffer - 1)->state);
    if (BUF_STATE_GET_USAGECOUNT(state) < (strategy ? 1u : BM_MAX_USAGE_COUNT)) return false;
    if (!pin_buffer_of(relation, block, buffer)) return false;
#if PG_VERSION_NUM >= 160000
    pgstat_count_io_op(IOOBJECT_RELATION, IOContextForStrategy(strategy), IOOP_HIT);
#endif
    pgstat_count_buffer_read(relation);
    pgstat_count_buffer_hit(relation);
    return true;
}
#endif

// Pins a block; guess: where it may be.
inline Buffer pin_block(Relation relation, BufferAccessStrategy strategy, BlockNumber block,
                        [[maybe_unused]] Buffer guess) {
#if PG_VERSION_NUM < 170000
    if (pin_guessed(relation, strategy, block, guess)) return guess;
#endif
    return ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
}

// Pins the buffer that holds the block, if there is one, and InvalidBuffer if not: nothing is read.
inline Buffer pin_if_buffered(Relation relation, BlockNumber block) {
    const Buffer buffer = find_buffer(relation, InvalidBuffer, block);
    return BufferIsValid(buffer) && pin_buffer_of(relation, block, buffer) ? buffer : InvalidBuffer;
}

#if PG_VERSION_NUM < 170000

// As heapgetpage() does it.
inline int list_visible_tuples(HeapScanDesc scan, Page page, bool all_visible) {
    Relation relation = scan->rs_base.rs_rd;
    Snapshot snapshot = scan->rs_base.rs_snapshot;
    OffsetNumber last = PageGetMaxOffsetNumber(page);
    HeapTupleData tuple;
    tuple.t_tableOid = RelationGetRelid(relation);
    int count = 0;
    for (OffsetNumber line = FirstOffsetNumber; line <= last; line++) {
        ItemId item = PageGetItemId(page, line);
        if (!ItemIdIsNormal(item)) continue;
        tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        tuple.t_len = ItemIdGetLength(item);
        ItemPointerSet(&tuple.t_self, scan->rs_cblock, line);
        bool visible = all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, scan->rs_cbuf);
        HeapCheckForSerializableConflictOut(visible, relation, &tuple, scan->rs_cbuf, snapshot);
        if (visible) scan->rs_vistuples[count++] = line;
    }
    return count;
}

// heapgetpage() in page mode. guess: the buffer that the block is likely to be in.
inline void read_heap_page(HeapScanDesc scan, BlockNumber block, Buffer guess) {
    Relation relation = scan->rs_base.rs_rd;
    Snapshot snapshot = scan->rs_base.rs_snapshot;
    if (BufferIsValid(scan->rs_cbuf)) ReleaseBuffer(scan->rs_cbuf);
    scan->rs_cbuf = InvalidBuffer;
    CHECK_FOR_INTERRUPTS();
    scan->rs_cbuf = pin_block(relation, scan->rs_strategy, block, guess);
    scan->rs_cblock = block;
    heap_page_prune_opt(relation, scan->rs_cbuf);
    LockBuffer(scan->rs_cbuf, BUFFER_LOCK_SHARE);
    Page page = gpujoin_buffer_page(scan->rs_cbuf);
    TestForOldSnapshot(snapshot, relation, page);
    bool all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
    if (all_visible && !CheckForSerializableConflictOutNeeded(relation, snapshot))
        scan->rs_ntuples = list_all_tuples(page, scan->rs_vistuples);
    else
        scan->rs_ntuples = list_visible_tuples(scan, page, all_visible);
    LockBuffer(scan->rs_cbuf, BUFFER_LOCK_UNLOCK);
}
#endif

// The blocks that a heap scan reads, in their order. From 17 on they are asked for ahead of the scan, and
// pinned, in a stream of its own: the descriptor's own one leaves none out.
struct BlockOrder {
    BlockNumber (*next)(void* reader);  // InvalidBlockNumber: there are no more
    void* reader;
    MemoryContext context;  // that a stream is made in
    BlockNumber ahead;      // the one that is likely to come next, and its buffer, which is not pinned
    Buffer buffer_ahead;
#if PG_VERSION_NUM >= 170000
    ReadStream* stream;  // nullptr: nothing has been read since the start
#endif
};

#if PG_VERSION_NUM >= 170000
inline BlockNumber next_of_order(ReadStream*, void* order, void*) {
    return static_cast<BlockOrder*>(order)->next(static_cast<BlockOrder*>(order)->reader);
}

inline void open_stream(HeapScanDesc scan, BlockOrder* order) {
    int flags = READ_STREAM_SEQUENTIAL;
#if PG_VERSION_NUM >= 180000
    flags |= READ_STREAM_USE_BATCHING;
#endif
    MemoryContext caller = MemoryContextSwitchTo(order->context);
    order->stream = read_stream_begin_relation(flags, scan->rs_strategy, scan->rs_base.rs_rd, MAIN_FORKNUM,
                                               next_of_order, order, 0);
    MemoryContextSwitchTo(caller);
}
#endif

// Nothing more is read in this order, and what was pinned ahead is given back.
inline void end_block_order([[maybe_unused]] BlockOrder* order) {
#if PG_VERSION_NUM >= 170000
    if (order->stream) read_stream_end(order->stream);
    order->stream = nullptr;
#endif
}

// Makes the next block of a heap scan in page mode its current page: pinned in rs_cbuf, pruned, the lines of
// its rs_ntuples visible tuples in rs_vistuples, serializable conflicts checked. False after the last.
inline bool read_next_heap_page(HeapScanDesc scan, BlockOrder* order) {
#if PG_VERSION_NUM >= 170000
    if (BufferIsValid(scan->rs_cbuf)) ReleaseBuffer(scan->rs_cbuf);
    scan->rs_cbuf = InvalidBuffer;
    CHECK_FOR_INTERRUPTS();
    if (!order->stream) open_stream(scan, order);
    scan->rs_cbuf = read_stream_next_buffer(order->stream, nullptr);
    if (!BufferIsValid(scan->rs_cbuf)) return false;
    scan->rs_cblock = BufferGetBlockNumber(scan->rs_cbuf);
    heap_prepare_pagescan(&scan->rs_base);
#else
    BlockNumber block = order->next(order->reader);
    if (block == InvalidBlockNumber) return false;
    scan->rs_inited = true;
    read_heap_page(scan, block,
                   block == order->ahead ? order->buffer_ahead : guess_buffer(scan->rs_cbuf, block));
#endif
    return true;
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

// Relations without the outer joins that columns tell of, from 16 on.
inline Relids without_outer_joins([[maybe_unused]] const PlannerInfo* root, Relids relids) {
#if PG_VERSION_NUM >= 160000
    return bms_difference(relids, root->outer_join_rels);
#else
    return relids;
#endif
}

// From 18 on, expressions that are grouped by sets are other ones above the grouping than below.
inline constexpr bool kCombinesSets = PG_VERSION_NUM < 180000;

// From 18 on EXPLAIN takes options of extensions, and lets them show what they have to say below each plan.
// This is for one option, of ours.
using ShowBelowPlan = void (*)(const PlannedStmt*, ExplainState*);

#if PG_VERSION_NUM >= 180000
inline ShowBelowPlan show_below_plan;
inline explain_per_plan_hook_type next_below_plan;
inline int explain_id;

inline bool has_explain_option(ExplainState* es) {
    return GetExplainExtensionState(es, explain_id) != nullptr;
}

inline void set_explain_option(ExplainState* es, DefElem* option, ParseState*) {
    SetExplainExtensionState(es, explain_id, defGetBoolean(option) ? &explain_id : nullptr);
}

inline void call_below_plan(PlannedStmt* statement, IntoClause* into, ExplainState* es, const char* text,
                            ParamListInfo parameters, QueryEnvironment* environment) {
    if (next_below_plan) next_below_plan(statement, into, es, text, parameters, environment);
    if (has_explain_option(es)) show_below_plan(statement, es);
}

inline void add_explain_option(const char* name, ShowBelowPlan show) {
    show_below_plan = show;
    explain_id = GetExplainExtensionId("gpujoin");
    RegisterExtensionExplainOption(name, set_explain_option);
    next_below_plan = explain_per_plan_hook;
    explain_per_plan_hook = call_below_plan;
}
#else
inline bool has_explain_option(ExplainState*) {
    return false;
}
inline void add_explain_option(const char*, ShowBelowPlan) {}
#endif

// Core's path for grouping by sets, as another one does it.
inline Path* group_by_sets(PlannerInfo* root, RelOptInfo* grouped, Path* input, const GroupingSetsPath* model,
                           const AggClauseCosts* costs) {
#if PG_VERSION_NUM >= 160000
    return reinterpret_cast<Path*>(create_groupingsets_path(root, grouped, input, model->qual,
                                                            model->aggstrategy, model->rollups, costs));
#else
    return reinterpret_cast<Path*>(create_groupingsets_path(
        root, grouped, input, model->qual, model->aggstrategy, model->rollups, costs, model->path.rows));
#endif
}

// Of an aggregate that is not to have its rows in an order any more.
inline void forget_presorted([[maybe_unused]] Aggref* aggref) {
#if PG_VERSION_NUM >= 160000
    aggref->aggpresorted = false;
#endif
}

// What a query groups by; from 16 on without what is redundant.
inline List* group_clause(const PlannerInfo* root) {
#if PG_VERSION_NUM >= 160000
    return root->processed_groupClause;
#else
    return root->parse->groupClause;
#endif
}

// The same of SELECT DISTINCT.
inline List* distinct_clause(const PlannerInfo* root) {
#if PG_VERSION_NUM >= 160000
    return root->processed_distinctClause;
#else
    return root->parse->distinctClause;
#endif
}

}  // namespace gpujoin
