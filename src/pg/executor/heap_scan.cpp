// See heap_scan.h. Blocks are visited in the order in which heap_getnextslot() visits them, alone or shared
// with parallel workers.
#include "pg/compat.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/executor/heap_deform.h"
#include "pg/executor/scan_conditions.h"
#include "pg/executor/heap_scan.h"

extern "C" {
#include "access/relscan.h"
#include "access/syncscan.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

struct HeapScan {
    SeqScanState* node;
    HeapDeformer* deformer;
    ScanConditions* conditions;  // nullptr: no condition
    bool running;                // between the first page and the end or a reset
    BlockOrder order;
    uint32 count;  // rows of the current page, and how many of them were taken
    uint32 taken;
    bool has_begun;            // to go through the blocks, alone or with others
    BlockNumber block;         // that it is at there
    const uint8* passed_over;  // one bit a block of the first so many; nullptr: all are read
    BlockNumber covered;       // so many
    const uint8* read_too;     // of those that are passed over; nullptr: none (any more)
    BlockNumber next_too;      // where to look for the next one
    RowSet rows;               // those that were not taken; the arrays are its
    const Datum** values;
    const bool** nulls;
    bool* has_nulls;
    HeapColumn** column;  // by attribute of the child, nullptr where it was not asked for
};

namespace {

Expr* expression_of(const SeqScanState* node, AttrNumber attribute) {
    return list_nth_node(TargetEntry, node->ss.ps.plan->targetlist, attribute - 1)->expr;
}

// nullptr: it is none.
Const* constant_of(const SeqScanState* node, AttrNumber attribute) {
    if (!node->ss.ps.ps_ProjInfo) return nullptr;
    Expr* expression = expression_of(node, attribute);
    return IsA(expression, Const) ? reinterpret_cast<Const*>(expression) : nullptr;
}

// The table's attribute behind an attribute of the child's slot. 0: none, the child computes it.
AttrNumber table_attribute(const SeqScanState* node, AttrNumber attribute) {
    if (!node->ss.ps.ps_ProjInfo) return attribute;
    const Expr* expression = expression_of(node, attribute);
    if (!IsA(expression, Var)) return 0;
    return Max(reinterpret_cast<const Var*>(expression)->varattno, 0);
}

bool returns_plain_columns(const SeqScanState* node) {
    const auto attributes = static_cast<AttrNumber>(node->ss.ps.ps_ResultTupleDesc->natts);
    for (AttrNumber i = 1; i <= attributes; i++)
        if (table_attribute(node, i) == 0 && !constant_of(node, i)) return false;
    return true;
}

bool can_read(const PlanState* child) {
    if (!IsA(child, SeqScanState)) return false;
    const auto* node = reinterpret_cast<const SeqScanState*>(child);
    const EState* estate = child->state;
    return node->ss.ss_currentRelation->rd_tableam == GetHeapamTableAmRoutine() && !estate->es_epq_active &&
           estate->es_snapshot && IsMVCCSnapshot(estate->es_snapshot) && returns_plain_columns(node);
}

template <typename T>
T* new_array(int count) {
    return zeroed<T>(count + 1);
}

HeapColumn* find_column(const HeapDeformer* deformer, AttrNumber attribute) {
    for (int i = 0; i < deformer->column_count; i++)
        if (deformer->columns[i].attribute == attribute) return &deformer->columns[i];
    return nullptr;
}

// The same for all rows of a page.
void init_constant(HeapScan* scan, int column, const Const* constant) {
    auto* values = new_array<Datum>(MaxHeapTuplesPerPage);
    auto* nulls = new_array<bool>(MaxHeapTuplesPerPage);
    std::fill_n(values, MaxHeapTuplesPerPage, constant->constvalue);
    std::fill_n(nulls, MaxHeapTuplesPerPage, constant->constisnull);
    scan->values[column] = values;
    scan->nulls[column] = nulls;
    scan->has_nulls[column] = constant->constisnull;
}

void init_rows(HeapScan* scan, const Bitmapset* wanted) {
    TupleDesc desc = scan->node->ss.ps.ps_ResultTupleDesc;
    scan->column = new_array<HeapColumn*>(desc->natts);
    scan->values = new_array<const Datum*>(desc->natts);
    scan->nulls = new_array<const bool*>(desc->natts);
    scan->has_nulls = new_array<bool>(desc->natts);
    for (int member = -1; (member = bms_next_member(wanted, member)) >= 0;) {
        const auto wanted_attribute = static_cast<AttrNumber>(member);
        if (const Const* constant = constant_of(scan->node, wanted_attribute))
            init_constant(scan, member - 1, constant);
        else
            scan->column[member - 1] =
                find_column(scan->deformer, table_attribute(scan->node, wanted_attribute));
    }
    TupleTableSlot* slot = MakeTupleTableSlot(desc, &TTSOpsVirtual);
    memset(slot->tts_isnull, true, desc->natts);
    ExecStoreVirtualTuple(slot);
    scan->rows = {0, scan->values, scan->nulls, scan->has_nulls, slot, desc->natts};
}

// The descriptor that the node would use, made as the node makes it.
TableScanDesc descriptor(HeapScan* scan) {
    ScanState* node = &scan->node->ss;
    if (!node->ss_currentScanDesc)
        node->ss_currentScanDesc =
            table_beginscan(node->ss_currentRelation, node->ps.state->es_snapshot, 0, nullptr);
    Assert(node->ss_currentScanDesc->rs_flags & SO_ALLOW_PAGEMODE);
    return node->ss_currentScanDesc;
}

bool has_bit(const uint8* bits, BlockNumber block) {
    return bits[block / BITS_PER_BYTE] >> (block % BITS_PER_BYTE) & 1;
}

BlockNumber next_shared_block(const HeapScan* scan, HeapScanDesc heap) {
    Relation relation = heap->rs_base.rs_rd;
    auto* shared = reinterpret_cast<ParallelBlockTableScanDesc>(heap->rs_base.rs_parallel);
    if (!scan->has_begun)
        table_block_parallelscan_startblock_init(relation, heap->rs_parallelworkerdata, shared);
    return table_block_parallelscan_nextpage(relation, heap->rs_parallelworkerdata, shared);
}

BlockNumber next_own_block(const HeapScan* scan, HeapScanDesc heap) {
    if (!scan->has_begun) return heap->rs_startblock;
    BlockNumber block = scan->block + 1;
    if (block >= heap->rs_nblocks) block = 0;
    if (heap->rs_base.rs_flags & SO_ALLOW_SYNC) ss_report_location(heap->rs_base.rs_rd, block);
    return block == heap->rs_startblock ? InvalidBlockNumber : block;
}

BlockNumber next_block_too(HeapScan* scan) {
    while (scan->read_too && scan->next_too < scan->covered)
        if (BlockNumber block = scan->next_too++; has_bit(scan->read_too, block)) return block;
    scan->read_too = nullptr;
    return InvalidBlockNumber;
}

bool is_passed_over(const HeapScan* scan, BlockNumber block) {
    return scan->passed_over && block < scan->covered && has_bit(scan->passed_over, block);
}

// Of a scan of one's own: comes to the last of the blocks behind this one that are passed over as well, as
// far as whole bytes of the map tell.
void skip_own_blocks(HeapScan* scan, HeapScanDesc heap) {
    BlockNumber end = scan->block < heap->rs_startblock ? heap->rs_startblock : heap->rs_nblocks;
    end = Min(end, scan->covered);
    BlockNumber next = scan->block + 1;
    while (next % BITS_PER_BYTE == 0 && next + BITS_PER_BYTE <= end &&
           scan->passed_over[next / BITS_PER_BYTE] == 0xff)
        next += BITS_PER_BYTE;
    scan->block = next - 1;
}

BlockNumber next_block(void* reader) {
    auto* scan = static_cast<HeapScan*>(reader);
    auto* heap = reinterpret_cast<HeapScanDesc>(descriptor(scan));
    if (heap->rs_nblocks == 0) return InvalidBlockNumber;
    BlockNumber block = next_block_too(scan);
    if (block != InvalidBlockNumber) return block;
    for (;;) {
        bool is_shared = heap->rs_base.rs_parallel;
        block = is_shared ? next_shared_block(scan, heap) : next_own_block(scan, heap);
        scan->has_begun = true;
        scan->block = block;
        if (block == InvalidBlockNumber || !is_passed_over(scan, block)) return block;
        if (!is_shared) skip_own_blocks(scan, heap);
    }
}

// Leaves the descriptor as heap_getnextslot() leaves it after the last row.
void end_scan(HeapScan* scan, HeapScanDesc heap) {
    end_block_order(&scan->order);
    if (BufferIsValid(heap->rs_cbuf)) ReleaseBuffer(heap->rs_cbuf);
    heap->rs_cbuf = InvalidBuffer;
    heap->rs_cblock = InvalidBlockNumber;
    heap->rs_inited = false;
    scan->running = false;
}

// The first block whose bit is the one wanted. It is not looked for far away.
BlockNumber find_bit(const uint8* bits, bool wanted, BlockNumber block, BlockNumber end) {
    constexpr BlockNumber kFar = 2048;
    const uint8 none = wanted ? 0 : 0xff;
    end = Min(end, block + kFar);
    while (block < end && has_bit(bits, block) != wanted)
        block += block % BITS_PER_BYTE == 0 && bits[block / BITS_PER_BYTE] == none ? BITS_PER_BYTE : 1;
    return block < end ? block : InvalidBlockNumber;
}

// The block that is likely to be read behind the current one, as far as this process knows.
BlockNumber block_ahead(const HeapScan* scan, HeapScanDesc heap) {
    const BlockNumber block = heap->rs_cblock + 1;
    if (scan->read_too && is_passed_over(scan, heap->rs_cblock))
        return find_bit(scan->read_too, true, block, scan->covered);
    BlockNumber end = heap->rs_nblocks;
    if (heap->rs_base.rs_parallel)
        end = Min(end, block + (scan->has_begun ? heap->rs_parallelworkerdata->phsw_chunk_remaining : 0));
    if (block >= end) return InvalidBlockNumber;
    if (!is_passed_over(scan, block)) return block;
    return find_bit(scan->passed_over, false, block, Min(end, scan->covered));
}

// Its page, or nullptr. A hint: the buffer is not pinned. It is looked up where it is another one than the
// next, of a scan that passes blocks over.
const char* page_ahead(HeapScan* scan, HeapScanDesc heap) {
    BlockOrder* order = &scan->order;
    order->ahead = block_ahead(scan, heap);
    order->buffer_ahead = InvalidBuffer;
    if (order->ahead == InvalidBlockNumber) return nullptr;
    order->buffer_ahead = scan->passed_over ? find_buffer(heap->rs_base.rs_rd, heap->rs_cbuf, order->ahead)
                                            : guess_buffer(heap->rs_cbuf, order->ahead);
    return BufferIsValid(order->buffer_ahead) ? BufferGetPage(order->buffer_ahead) : nullptr;
}

// Tests the visible rows of the current page, and returns how many are left.
uint32 test_rows(HeapScan* scan, HeapScanDesc heap, uint32 visible, uint16* passed) {
    uint32 count =
        scan_conditions_rows(scan->conditions, &heap->rs_base, heap->rs_vistuples, visible, passed);
    if (count < visible) InstrCountFiltered1(&scan->node->ss.ps, visible - count);
    return count;
}

// Reads the visible rows of the current page that meet the scan's conditions.
void read_rows(HeapScan* scan, HeapScanDesc heap) {
    const uint32 visible = static_cast<uint32>(heap->rs_ntuples);
    Page page = BufferGetPage(heap->rs_cbuf);
    HeapTupleHeader tuples[MaxHeapTuplesPerPage];
    uint16 passed[MaxHeapTuplesPerPage];
    for (uint32 i = 0; i < visible; i++)
        tuples[i] =
            reinterpret_cast<HeapTupleHeader>(PageGetItem(page, PageGetItemId(page, heap->rs_vistuples[i])));
    const char* ahead = page_ahead(scan, heap);
    heap_prefetch(ahead, page, tuples, visible, false);
    count_rows_fetched(heap->rs_base.rs_rd, visible);
    const bool has_conditions = scan->conditions && visible > 0;
    const bool tests_first = has_conditions && !scan_conditions_read_columns(scan->conditions);
    scan->count = visible;
    if (tests_first) {
        scan->count = test_rows(scan, heap, visible, passed);
        for (uint32 i = 0; i < scan->count; i++) tuples[i] = tuples[passed[i]];
    }
    heap_deform(scan->deformer, tuples, scan->count);
    heap_prefetch(ahead, page, tuples, visible, true);
    if (!has_conditions || tests_first) return;
    scan->count = test_rows(scan, heap, visible, passed);
    if (scan->count < visible) heap_keep_rows(scan->deformer, passed, scan->count);
}

// Goes on to the next page with rows to give. False at the end.
bool next_page(HeapScan* scan) {
    auto* heap = reinterpret_cast<HeapScanDesc>(descriptor(scan));
    scan->taken = scan->count = 0;
    while (scan->count == 0) {
        if (!read_next_heap_page(heap, &scan->order)) {
            end_scan(scan, heap);
            return false;
        }
        read_rows(scan, heap);
    }
    return true;
}

// As ExecProcNode() does it around the node.
bool next_instrumented_page(HeapScan* scan) {
    PlanState* node = &scan->node->ss.ps;
    if (!node->instrument) return next_page(scan);
    InstrStartNode(node->instrument);
    bool found = next_page(scan);
    InstrStopNode(node->instrument, scan->count);
    return found;
}

void start_scan(HeapScan* scan) {
    if (scan->node->ss.ps.chgParam) ExecReScan(&scan->node->ss.ps);
    if (scan->conditions) scan_conditions_reset(scan->conditions);
    scan->running = true;
    scan->has_begun = false;
}

void show_rows(HeapScan* scan) {
    scan->rows.rows = scan->count - scan->taken;
    for (int i = 0; i < scan->rows.attributes; i++) {
        const HeapColumn* column = scan->column[i];
        if (!column) continue;
        scan->values[i] = column->values + scan->taken;
        scan->nulls[i] = column->nulls + scan->taken;
        scan->has_nulls[i] = column->has_nulls;
    }
}

}  // namespace

HeapScan* heap_scan_create(PlanState* child, const Bitmapset* wanted) {
    if (!can_read(child)) return nullptr;
    auto* scan = zeroed<HeapScan>();
    scan->node = reinterpret_cast<SeqScanState*>(child);
    scan->order.next = next_block;
    scan->order.reader = scan;
    scan->order.context = CurrentMemoryContext;
    scan->order.ahead = InvalidBlockNumber;
    Bitmapset* columns = scan_conditions_columns(scan->node, nullptr);
    for (int member = -1; (member = bms_next_member(wanted, member)) >= 0;)
        if (AttrNumber attribute = table_attribute(scan->node, static_cast<AttrNumber>(member)))
            columns = bms_add_member(columns, attribute);
    scan->deformer = heap_deformer_create(RelationGetDescr(scan->node->ss.ss_currentRelation), columns);
    scan->conditions = scan_conditions_create(scan->node, scan->deformer);
    init_rows(scan, wanted);
    return scan;
}

const RowSet* heap_scan_rows(HeapScan* scan) {
    if (!scan->running) start_scan(scan);
    if (scan->taken == scan->count && !next_instrumented_page(scan)) return nullptr;
    show_rows(scan);
    return &scan->rows;
}

void heap_scan_take(HeapScan* scan, uint32_t rows) {
    scan->taken += rows;
}

BlockNumber heap_scan_start(HeapScan* scan) {
    if (!scan->running) start_scan(scan);
    return reinterpret_cast<HeapScanDesc>(descriptor(scan))->rs_nblocks;
}

void heap_scan_pass_over(HeapScan* scan, const uint8_t* passed_over, BlockNumber blocks) {
    Assert(!passed_over || (scan->running && !scan->has_begun));
    scan->passed_over = passed_over;
    scan->covered = blocks;
    scan->read_too = nullptr;
}

void heap_scan_read_too(HeapScan* scan, const uint8_t* blocks) {
    Assert(scan->passed_over);
    scan->read_too = blocks;
    scan->next_too = 0;
}

AttrNumber heap_scan_attribute(const HeapScan* scan, AttrNumber attribute) {
    return table_attribute(scan->node, attribute);
}

Const* heap_scan_constant(const HeapScan* scan, AttrNumber attribute) {
    return constant_of(scan->node, attribute);
}

PlanState* heap_scan_node(const HeapScan* scan) {
    return &scan->node->ss.ps;
}

Relation heap_scan_relation(const HeapScan* scan) {
    return scan->node->ss.ss_currentRelation;
}

bool heap_scan_is_shared(const HeapScan* scan) {
    return scan->node->ss.ss_currentScanDesc->rs_parallel;
}

void heap_scan_reset(HeapScan* scan) {
    end_block_order(&scan->order);
    scan->taken = scan->count = 0;
    scan->running = false;
    heap_scan_pass_over(scan, nullptr, 0);
}

}  // namespace gpujoin
