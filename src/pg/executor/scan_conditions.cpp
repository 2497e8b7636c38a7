// See scan_conditions.h. Every comparison becomes "is the value, as an integer that orders like it, in a
// range?": one loop a type.
#include "pg/executor/scan_conditions.h"

#include <bit>
#include <cmath>
#include <limits>

#include "pg/allocate.h"
#include "pg/key_encoding.h"

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
    Comparison comparison;
    Oid column_type;  // declared by the operator
    Oid constant_type;
    ExprState* constant;
    bool prepared;  // the constant has been evaluated in this scan
    TestRows test;
    int64 low;
    uint64 span;
    bool outside;
    bool never;  // no value passes
};

int64 int_of(double value) {
    if (std::isnan(value)) return PG_INT64_MAX;
    int64 bits = std::bit_cast<int64>(value + 0.0);  // -0 + 0 is +0
    return bits < 0 ? bits ^ PG_INT64_MAX : bits;
}

// An integer that orders among its kind as the values do: all floats, or all others.
template <Oid type>
int64 int_of(Datum value) {
    if constexpr (type == INT2OID) return DatumGetInt16(value);
    if constexpr (type == INT4OID) return DatumGetInt32(value);
    if constexpr (type == INT8OID) return DatumGetInt64(value);
    if constexpr (type == OIDOID) return DatumGetObjectId(value);
    if constexpr (type == FLOAT4OID) return int_of(double{DatumGetFloat4(value)});
    if constexpr (type == FLOAT8OID) return int_of(DatumGetFloat8(value));
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

struct TypeTraits {
    TestRows test;
    int64 (*int_of)(Datum);
};

template <Oid type>
constexpr TypeTraits traits_of = {test_rows<type>, int_of<type>};

// nullptr for types that are not tested here.
const TypeTraits* find_traits(Oid type) {
    switch (type) {
        case INT2OID:
            return &traits_of<INT2OID>;
        case INT4OID:
        case DATEOID:
            return &traits_of<INT4OID>;
        case INT8OID:
        case TIMEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return &traits_of<INT8OID>;
        case OIDOID:
            return &traits_of<OIDOID>;
        case FLOAT4OID:
            return &traits_of<FLOAT4OID>;
        case FLOAT8OID:
            return &traits_of<FLOAT8OID>;
        default:
            return nullptr;
    }
}

const Expr* strip_relabelling(const void* node) {
    const auto* expression = static_cast<const Expr*>(node);
    while (IsA(expression, RelabelType)) expression = reinterpret_cast<const RelabelType*>(expression)->arg;
    return expression;
}

bool is_column(const Expr* expression) {
    return IsA(expression, Var) && reinterpret_cast<const Var*>(expression)->varattno > 0;
}

bool is_constant(const Expr* expression) {
    return IsA(expression, Const) || IsA(expression, Param);
}

// A clause in the form column <comparison> constant.
struct Recognised {
    AttrNumber attribute;
    Expr* constant;
    Comparison comparison;
    Oid column_type;
    Oid constant_type;
};

bool recognise(const Node* clause, Recognised* found) {
    if (!IsA(clause, OpExpr)) return false;
    const auto* op = reinterpret_cast<const OpExpr*>(clause);
    OperatorEncoding encoding;
    if (list_length(op->args) != 2 || !find_operator_encoding(op->opno, op->inputcollid, &encoding) ||
        encoding.encoding == KeyEncoding::DateTimestamp || !find_traits(encoding.left_type) ||
        !find_traits(encoding.right_type))
        return false;
    const Expr* left = strip_relabelling(linitial(op->args));
    const Expr* right = strip_relabelling(lsecond(op->args));
    bool swapped = is_constant(left);
    if (!is_column(swapped ? right : left) || !is_constant(swapped ? left : right)) return false;
    found->attribute = reinterpret_cast<const Var*>(swapped ? right : left)->varattno;
    found->constant = static_cast<Expr*>(swapped ? linitial(op->args) : lsecond(op->args));
    found->comparison = swapped ? commuted(encoding.comparison) : encoding.comparison;
    found->column_type = swapped ? encoding.right_type : encoding.left_type;
    found->constant_type = swapped ? encoding.left_type : encoding.right_type;
    return true;
}

// Sets the range of values that pass.
void set_range(ColumnTest* test, int64 constant) {
    int64 low = PG_INT64_MIN;
    int64 high = PG_INT64_MAX;
    test->outside = test->comparison == Comparison::NotEqual;
    switch (test->comparison) {
        case Comparison::Equal:
        case Comparison::NotEqual:
            low = high = constant;
            break;
        case Comparison::Less:
            test->never = constant == PG_INT64_MIN;
            high = test->never ? constant : constant - 1;
            break;
        case Comparison::LessEqual:
            high = constant;
            break;
        case Comparison::Greater:
            test->never = constant == PG_INT64_MAX;
            low = test->never ? constant : constant + 1;
            break;
        case Comparison::GreaterEqual:
            low = constant;
            break;
    }
    test->low = low;
    test->span = static_cast<uint64>(high) - static_cast<uint64>(low);
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
    test->never = isnull;
    if (!isnull) set_range(test, find_traits(test->constant_type)->int_of(value));
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
        Recognised found;
        if (recognise(static_cast<Node*>(lfirst(cell)), &found))
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
        Recognised found;
        if (!recognise(static_cast<Node*>(lfirst(cell)), &found)) continue;
        ColumnTest* test = &conditions->tests[conditions->test_count++];
        test->column = deformer->attribute[found.attribute - 1].column;
        test->comparison = found.comparison;
        test->column_type = found.column_type;
        test->constant_type = found.constant_type;
        test->constant = ExecInitExpr(found.constant, &node->ss.ps);
        test->test = find_traits(found.column_type)->test;
    }
    conditions->complete = conditions->test_count == list_length(qual);
    return conditions;
}

int scan_conditions_as_ranges(const ScanConditions* conditions) {
    if (!conditions->complete) return -1;
    for (int i = 0; i < conditions->test_count; i++) {
        Oid type = conditions->tests[i].column_type;
        if (type == FLOAT4OID || type == FLOAT8OID) return -1;
    }
    return conditions->test_count;
}

void scan_condition_column(const ScanConditions* conditions, int number, ConditionRange* range) {
    const ColumnTest* test = &conditions->tests[number];
    range->attribute = test->column->attribute;
    range->type = test->column_type;
}

void scan_condition_range(ScanConditions* conditions, int number, ConditionRange* range) {
    ColumnTest* test = &conditions->tests[number];
    if (!test->prepared) prepare(conditions->node, test);
    scan_condition_column(conditions, number, range);
    range->low = test->never ? 0 : test->low;
    range->span = test->never ? PG_UINT64_MAX : test->span;
    range->outside = test->never || test->outside;
}

void scan_conditions_reset(ScanConditions* conditions) {
    for (int i = 0; i < conditions->test_count; i++) conditions->tests[i].prepared = false;
}

uint32 scan_conditions_rows(ScanConditions* conditions, TableScanDesc scan, const OffsetNumber* lines,
                            uint32 rows, uint16* passed) {
    for (uint32 row = 0; row < rows; row++) passed[row] = static_cast<uint16>(row);
    uint32 count = rows;
    for (int i = 0; i < conditions->test_count && count > 0; i++) {
        ColumnTest* test = &conditions->tests[i];
        if (!test->prepared) prepare(conditions->node, test);
        if (test->never) return 0;
        count = test->test(test->column, test->low, test->span, test->outside, passed, count);
    }
    if (conditions->complete || count == 0) return count;
    return test_others(conditions->node, scan, lines, passed, count);
}

}  // namespace gpujoin
