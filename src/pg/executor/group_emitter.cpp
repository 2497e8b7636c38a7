// See group_emitter.h.
#include "pg/executor/group_emitter.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/emitter.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "libpq/pqformat.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

constexpr int kNumericBase = 10000;
constexpr int kMaxNumericDigits = 10;  // of 128 bits
constexpr int kNumericPositive = 0x0000;
constexpr int kNumericNegative = 0x4000;

void bind(GroupColumn* column, const ResultView* view) {
    const ColumnBuffers* buffers = &view->columns[column->column];
    const std::byte* memory = view->block.memory;
    bool nullable = buffers->validity != kNoBuffer;
    column->validity = nullable ? reinterpret_cast<const uint8_t*>(memory + buffers->validity) : nullptr;
    column->values = memory + buffers->values;
}

bool is_null(const GroupColumn* column, uint32_t row) {
    return column->validity && !(column->validity[row >> 3] >> (row & 7) & 1);
}

int64 number_at(const GroupColumn* column, uint32_t row) {
    return reinterpret_cast<const int64*>(column->values)[row];
}

int128 sum_at(const GroupColumn* column, uint32_t row) {
    int128 sum;
    memcpy(&sum, column->values + sizeof(sum) * row, sizeof(sum));
    return sum;
}

Datum number_datum(int64 number, int16 type_length) {
    switch (type_length) {
        case 2:
            return Int16GetDatum(static_cast<int16>(number));
        case 4:
            return Int32GetDatum(static_cast<int32>(number));
        default:
            return Int64GetDatum(number);
    }
}

// The same error as int8pl()'s, which core's transition function calls.
int64 bigint_of(int128 sum) {
    if (sum < PG_INT64_MIN || sum > PG_INT64_MAX)
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range"));
    return static_cast<int64>(sum);
}

// What int4_avg_accum() has: Int8TransTypeData in an array of two bigints.
Datum count_and_sum(int64 count, int64 sum) {
    Datum elements[2] = {Int64GetDatum(count), Int64GetDatum(sum)};
    return PointerGetDatum(construct_array(elements, 2, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE));
}

// As numericvar_serialize() writes an integer, digits most significant first.
void send_integer(StringInfo buffer, int128 number) {
    uint128 rest = number < 0 ? -static_cast<uint128>(number) : static_cast<uint128>(number);
    int16 digits[kMaxNumericDigits];
    int count = 0;
    for (; rest > 0; rest /= kNumericBase) digits[count++] = static_cast<int16>(rest % kNumericBase);
    pq_sendint32(buffer, count);
    pq_sendint32(buffer, count > 0 ? count - 1 : 0);  // weight
    pq_sendint32(buffer, number < 0 ? kNumericNegative : kNumericPositive);
    pq_sendint32(buffer, 0);  // scale
    while (count > 0) pq_sendint16(buffer, digits[--count]);
}

// As int8_avg_serialize() writes it.
Datum numeric_state(int64 count, int128 sum) {
    StringInfoData buffer;
    pq_begintypsend(&buffer);
    pq_sendint64(&buffer, count);
    send_integer(&buffer, sum);
    return PointerGetDatum(pq_endtypsend(&buffer));
}

// NULL where there was no value, but for states that begin with something else.
Datum state_datum(const EmitState* state, uint32_t row, bool* isnull) {
    const GroupColumn* value = &state->value;
    bool none = is_null(value, row);
    *isnull = false;
    switch (state->form) {
        case StateForm::CountAndSum:
            return count_and_sum(number_at(&state->count, row), none ? 0 : bigint_of(sum_at(value, row)));
        case StateForm::NumericState:
            return numeric_state(number_at(&state->count, row), none ? 0 : sum_at(value, row));
        case StateForm::Bigint:
            *isnull = none;
            return none ? Datum{0} : Int64GetDatum(bigint_of(sum_at(value, row)));
        case StateForm::Number:
            *isnull = none;
            return none ? Datum{0} : number_datum(number_at(value, row), state->type_length);
        case StateForm::Column:  // the emitter's
            break;
    }
    elog(ERROR, "state of an aggregate has an unknown form");
}

bool holds(ExprState* filter, ExprContext* context) {
    bool isnull;
    Datum truth = ExecEvalExpr(filter, context, &isnull);
    return !isnull && DatumGetBool(truth);
}

struct ValueSlots {
    List* values;
};

// The values that programs read become columns of the escaped rows' slot.
Node* slot_mutator(Node* node, void* slots) {
    if (!node) return nullptr;
    ListCell* cell;
    foreach (cell, static_cast<ValueSlots*>(slots)->values) {
        if (!equal(lfirst(cell), node)) continue;
        auto number = static_cast<AttrNumber>(foreach_current_index(cell) + 1);
        return reinterpret_cast<Node*>(
            makeVar(INDEX_VAR, number, exprType(node), exprTypmod(node), exprCollation(node), 0));
    }
    return mutate_expression(node, slot_mutator, slots);
}

TupleDesc desc_of(List* values) {
    TupleDesc desc = CreateTemplateTupleDesc(list_length(values));
    ListCell* cell;
    foreach (cell, values) {
        auto* value = static_cast<Node*>(lfirst(cell));
        TupleDescInitEntry(desc, static_cast<AttrNumber>(foreach_current_index(cell) + 1), nullptr,
                           exprType(value), exprTypmod(value), 0);
    }
    return desc;
}

}  // namespace

void group_emitter_bind(GroupEmitter* emitter, const ResultView* view) {
    if (view->rows == 0) return;
    for (int i = 0; i < emitter->count; i++) {
        bind(&emitter->states[i].value, view);
        bind(&emitter->states[i].count, view);
    }
}

void emit_states(const GroupEmitter* emitter, uint32_t row, TupleTableSlot* slot) {
    for (int i = 0; i < emitter->count; i++) {
        const EmitState* state = &emitter->states[i];
        bool isnull;
        slot->tts_values[state->target] = state_datum(state, row, &isnull);
        slot->tts_isnull[state->target] = isnull;
    }
}

void init_escaped_rows(EscapedRows* escaped, PlanState* parent, List* values, List* pairs) {
    escaped->slot = ExecInitExtraTupleSlot(parent->state, desc_of(values), &TTSOpsVirtual);
    escaped->pairs = list_length(pairs) / 2;
    escaped->filters = zeroed<ExprState*>(escaped->pairs + 1);
    escaped->arguments = zeroed<ExprState*>(escaped->pairs + 1);
    ValueSlots slots = {values};
    ListCell* cell;
    foreach (cell, pairs) {
        int number = foreach_current_index(cell);
        Node* mapped = slot_mutator(static_cast<Node*>(lfirst(cell)), &slots);
        ExprState* compiled = ExecInitExpr(reinterpret_cast<Expr*>(mapped), parent);
        (number % 2 == 0 ? escaped->filters : escaped->arguments)[number / 2] = compiled;
    }
}

void raise_escaped(const EscapedRows* escaped, const ResultView* view, ExprContext* context) {
    TupleTableSlot* slot = escaped->slot;
    TupleDesc desc = slot->tts_tupleDescriptor;
    ExecClearTuple(slot);
    for (int i = 0; i < desc->natts; i++) {
        EmitResultColumn column = {
            i, escaped->input_of[i], output_form(TupleDescAttr(desc, i)), nullptr, nullptr, nullptr};
        bind_result_column(&column, view);
        slot->tts_isnull[i] = is_null_at(&column, 0);
        slot->tts_values[i] = slot->tts_isnull[i] ? Datum{0} : datum_at(&column, 0);
    }
    ExecStoreVirtualTuple(slot);
    context->ecxt_scantuple = slot;
    for (int i = 0; i < escaped->pairs; i++) {
        bool isnull;
        if (holds(escaped->filters[i], context)) ExecEvalExpr(escaped->arguments[i], context, &isnull);
    }
    elog(ERROR, "gpujoin_server could not compute an aggregate's argument, but PostgreSQL could");
}

}  // namespace gpujoin
