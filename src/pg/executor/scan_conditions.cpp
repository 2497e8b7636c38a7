// See scan_conditions.h. Every comparison becomes "is the value, as an integer that orders like it, in a
// range?": one loop a type.
#include "pg/executor/scan_conditions.h"

#include "pg/allocate.h"
#include "pg/range_condition.h"

extern "C" {
#include "access/heapam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
}

namespace gpujoin {

namespace {

// Tests `passed` rows, and keeps those whose value is (not) between low and low + span.
using TestRows = uint32 (*)(const HeapColumn* column, int64 low, uint64 span, bool outside, uint16* passed,
                            uint32 count);

// column <comparison> constant.
struct ColumnTest {
    const HeapColumn* column;
    RangeCondition condition;
    ExprState* constant;
    bool prepared;  // the constant has been evaluated in this scan
    TestRows test;
    ValueRange range;
};

// An integer that orders among its kind as the values do: all floats, or all others.
template <Oid type>
int64 int_of(Datum value) {
    if constexpr (type == INT2OID) return DatumGetInt16(value);
    if constexpr (type == INT4OID) return DatumGetInt32(value);
    if constexpr (type == INT8OID) return DatumGetInt64(value);
    if constexpr (type == OIDOID) return DatumGetObjectId(value);
    if constexpr (type == FLOAT4OID) return ordered_integer(double{DatumGetFloat4(value)});
    if constexpr (type == FLOAT8OID) return ordered_integer(DatumGetFloat8(value));
}

template <Oid type>
uint32 test_rows(const HeapColumn* column, int64 low, uint64 span, bool outside, uint16* passed,
                 uint32 count) {
    uint32 kept = 0;
    for (uint32 i = 0; i < count; i++) {
        uint16 row = passed[i];
        uint64 distance = static_cast<uint64>(int_of<type>(column->values[row])) - static_cast<uint64>(low);
        passed[kept] = row;
        kept += ((distance <= span) != outside) & !column->nulls[row];
    }
    return kept;
}

TestRows test_of(Oid type) {
    switch (type) {
        case INT2OID:
            return test_rows<INT2OID>;
        case OIDOID:
            return test_rows<OIDOID>;
        case INT4OID:
        case DATEOID:
            return test_rows<INT4OID>;
        case FLOAT4OID:
            return test_rows<FLOAT4OID>;
        case FLOAT8OID:
            return test_rows<FLOAT8OID>;
        default:
            return test_rows<INT8OID>;
    }
}

}  // namespace

struct ScanConditions {
    SeqScanState* node;
    bool complete;  // there are no other conditions
    int test_count;
    ColumnTest* tests;
};

namespace {

// The constant may be a subquery's result: like core, ask for it only when a row comes to be compared with
// it.
void prepare(const SeqScanState* node, ColumnTest* test) {
    ExprContext* context = node->ss.ps.ps_ExprContext;
    ResetExprContext(context);
    bool isnull;
    Datum value = ExecEvalExprSwitchContext(test->constant, context, &isnull);
    test->range.never = true;
    if (!isnull) test->range = range_of(&test->condition, value);
    test->prepared = true;
}

// The conditions as core tests them. Those that were tested already hold, and are not worth leaving out.
uint32 test_others(SeqScanState* node, TableScanDesc scan, const OffsetNumber* lines, uint16* passed,
                   uint32 count) {
    ExprContext* context = node->ss.ps.ps_ExprContext;
    TupleTableSlot* slot = node->ss.ss_ScanTupleSlot;
    Buffer buffer = reinterpret_cast<HeapScanDesc>(scan)->rs_cbuf;
    BlockNumber block = reinterpret_cast<HeapScanDesc>(scan)->rs_cblock;
    Page page = BufferGetPage(buffer);
    HeapTupleData tuple;
    tuple.t_tableOid = RelationGetRelid(scan->rs_rd);
    uint32 kept = 0;
    for (uint32 i = 0; i < count; i++) {
        ItemId line = PageGetItemId(page, lines[passed[i]]);
        tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, line));
        tuple.t_len = ItemIdGetLength(line);
        ItemPointerSet(&tuple.t_self, block, lines[passed[i]]);
        ExecStoreBufferHeapTuple(&tuple, slot, buffer);
        ResetExprContext(context);
        context->ecxt_scantuple = slot;
        passed[kept] = passed[i];
        kept += ExecQual(node->ss.ps.qual, context);
    }
    ExecClearTuple(slot);
    return kept;
}

}  // namespace

Bitmapset* scan_conditions_columns(SeqScanState* node, Bitmapset* wanted) {
    ListCell* cell;
    foreach (cell, node->ss.ps.plan->qual) {
        RangeCondition found;
        if (find_range_condition(static_cast<Node*>(lfirst(cell)), false, &found))
            wanted = bms_add_member(wanted, found.attribute);
    }
    return wanted;
}

ScanConditions* scan_conditions_create(SeqScanState* node, const HeapDeformer* deformer) {
    List* qual = node->ss.ps.plan->qual;
    if (qual == NIL) return nullptr;
    auto* conditions = zeroed<ScanConditions>();
    conditions->node = node;
    conditions->tests = zeroed<ColumnTest>(list_length(qual));
    ListCell* cell;
    foreach (cell, qual) {
        RangeCondition found;
        if (!find_range_condition(static_cast<Node*>(lfirst(cell)), false, &found)) continue;
        ColumnTest* test = &conditions->tests[conditions->test_count++];
        test->column = deformer->attribute[found.attribute - 1].column;
        test->condition = found;
        test->constant = ExecInitExpr(found.constant, &node->ss.ps);
        test->test = test_of(found.column_type);
    }
    conditions->complete = conditions->test_count == list_length(qual);
    return conditions;
}

void scan_conditions_reset(ScanConditions* conditions) {
    for (int i = 0; i < conditions->test_count; i++) conditions->tests[i].prepared = false;
}

bool scan_conditions_read_columns(const ScanConditions* conditions) {
    return conditions->test_count > 0;
}

uint32 scan_conditions_rows(ScanConditions* conditions, TableScanDesc scan, const OffsetNumber* lines,
                            uint32 rows, uint16* passed) {
    for (uint32 row = 0; row < rows; row++) passed[row] = static_cast<uint16>(row);
    uint32 count = rows;
    for (int i = 0; i < conditions->test_count && count > 0; i++) {
        ColumnTest* test = &conditions->tests[i];
        if (!test->prepared) prepare(conditions->node, test);
        const ValueRange& range = test->range;
        if (range.never) return 0;
        count = test->test(test->column, range.low, range.span, range.outside, passed, count);
    }
    if (conditions->complete || count == 0) return count;
    return test_others(conditions->node, scan, lines, passed, count);
}

}  // namespace gpujoin
