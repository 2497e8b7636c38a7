// See escaped_rows.h.
#include "pg/executor/escaped_rows.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/decimal.h"
#include "pg/executor/group_emitter.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace gpujoin {

// One of core's aggregates, over the values' slot.
struct EscapedAggregate {
    int target;
    Oid collation;
    ExprState* filter;
    ExprState* argument;
    bool has_argument;
    FmgrInfo transition;
    FmgrInfo serialize;  // fn_oid 0: the state is no internal one
    Datum first;
    bool first_is_null;
    int16 state_length;  // pg_type's typlen and typbyval of the state
    bool state_by_value;
};

namespace {

// The values that programs read become columns of the slot.
Node* slot_mutator(Node* node, void* values) {
    if (!node) return nullptr;
    ListCell* cell;
    foreach (cell, static_cast<List*>(values)) {
        if (!equal(lfirst(cell), node)) continue;
        auto number = static_cast<AttrNumber>(foreach_current_index(cell) + 1);
        return reinterpret_cast<Node*>(
            makeVar(INDEX_VAR, number, exprType(node), exprTypmod(node), exprCollation(node), 0));
    }
    return mutate_expression(node, slot_mutator, values);
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

// The state that an aggregate begins with.
void init_first_state(EscapedAggregate* aggregate, HeapTuple tuple, Oid type) {
    Datum initial = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &aggregate->first_is_null);
    if (aggregate->first_is_null) return;
    Oid input, parameter;
    getTypeInputInfo(type, &input, &parameter);
    aggregate->first = OidInputFunctionCall(input, TextDatumGetCString(initial), parameter, -1);
}

void init_aggregate(EscapedAggregate* aggregate, const EntryState& state) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(state.aggregate));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for aggregate %u", state.aggregate);
    auto* form = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    aggregate->target = state.entry - 1;
    aggregate->collation = state.collation;
    fmgr_info(form->aggtransfn, &aggregate->transition);
    aggregate->has_argument = aggregate->transition.fn_nargs > 1;
    if (form->aggtranstype == INTERNALOID) fmgr_info(form->aggserialfn, &aggregate->serialize);
    get_typlenbyval(form->aggtranstype, &aggregate->state_length, &aggregate->state_by_value);
    init_first_state(aggregate, tuple, form->aggtranstype);
    ReleaseSysCache(tuple);
}

Datum call(const EscapedRows* escaped, const EscapedAggregate* aggregate, const FmgrInfo* function, int count,
           const NullableDatum* arguments, bool* isnull) {
    LOCAL_FCINFO(info, 2);
    InitFunctionCallInfoData(*info, const_cast<FmgrInfo*>(function), static_cast<int16>(count),
                             aggregate->collation, reinterpret_cast<Node*>(escaped->caller), nullptr);
    for (int i = 0; i < count; i++) info->args[i] = arguments[i];
    Datum result = FunctionCallInvoke(info);
    *isnull = info->isnull;
    return result;
}

bool passes(ExprState* filter, ExprContext* context) {
    bool isnull;
    Datum truth = ExecEvalExpr(filter, context, &isnull);
    return !isnull && DatumGetBool(truth);
}

// A copy: transition functions write into the states that they are given.
NullableDatum first_state(const EscapedAggregate* aggregate) {
    if (aggregate->first_is_null) return {Datum{0}, true};
    return {datumCopy(aggregate->first, aggregate->state_by_value, aggregate->state_length), false};
}

// The state after the row, as advance_transition_function() of core makes it.
NullableDatum state_of(const EscapedRows* escaped, const EscapedAggregate* aggregate, ExprContext* context) {
    NullableDatum arguments[2] = {first_state(aggregate), {Datum{0}, true}};
    NullableDatum state = arguments[0];
    if (!passes(aggregate->filter, context)) return state;
    if (aggregate->has_argument)
        arguments[1].value = ExecEvalExpr(aggregate->argument, context, &arguments[1].isnull);
    if (aggregate->transition.fn_strict && aggregate->has_argument) {
        if (arguments[1].isnull) return state;
        if (state.isnull) return arguments[1];
    }
    state.value = call(escaped, aggregate, &aggregate->transition, aggregate->has_argument ? 2 : 1, arguments,
                       &state.isnull);
    return state;
}

NullableDatum partial_state(const EscapedRows* escaped, const EscapedAggregate* aggregate,
                            ExprContext* context) {
    NullableDatum state = state_of(escaped, aggregate, context);
    if (!OidIsValid(aggregate->serialize.fn_oid) || state.isnull) return state;
    NullableDatum bytes;
    bytes.value = call(escaped, aggregate, &aggregate->serialize, 1, &state, &bytes.isnull);
    return bytes;
}

Datum value_at(const EscapedRows* escaped, int number, uint32_t row) {
    const EmitResultColumn* column = &escaped->values[number];
    const PlanValue& kind = escaped->kinds->value[number];
    if (kind.encoding != KeyEncoding::Decimal64) return datum_at(column, row);
    return numeric_of(gpujoin::value_at<int64>(column, row), kind.scale);
}

// The input that a column of groups is, of keys and what any row gives.
int input_of(const FragmentSpec* spec, int column) {
    return column < spec->keys ? spec->key[column] : spec->aggregate[column - spec->keys].value;
}

}  // namespace

void init_escaped_rows(EscapedRows* escaped, PlanState* parent, const GroupsPlan* plan,
                       const FragmentSpec* spec, TupleTableSlot* group_slot, List* values, List* pairs) {
    TupleDesc desc = desc_of(values);
    escaped->slot = ExecInitExtraTupleSlot(parent->state, desc, &TTSOpsVirtual);
    escaped->values = zeroed<EmitResultColumn>(desc->natts + 1);
    for (int i = 0; i < desc->natts; i++)
        escaped->values[i] = {
            i, escaped->input_of[i], output_form(TupleDescAttr(desc, i)), nullptr, nullptr, nullptr};
    escaped->kinds = &plan->values;
    escaped->columns.slot = group_slot;
    escaped->columns.result = zeroed<EmitResultColumn>(plan->states + 1);
    escaped->aggregates = zeroed<EscapedAggregate>(plan->states + 1);
    escaped->caller = makeNode(WindowAggState);
    for (int i = 0; i < plan->states; i++) {
        const EntryState& state = plan->state[i];
        int target = state.entry - 1;
        if (!OidIsValid(state.aggregate)) {
            escaped->columns.result[escaped->columns.result_count++] =
                emitted_column(plan, state, input_of(spec, state.column),
                               TupleDescAttr(group_slot->tts_tupleDescriptor, target));
            continue;
        }
        int number = escaped->aggregate_count++;
        EscapedAggregate* aggregate = &escaped->aggregates[number];
        init_aggregate(aggregate, state);
        for (int part = 0; part < 2; part++) {
            Node* mapped = slot_mutator(static_cast<Node*>(list_nth(pairs, 2 * number + part)), values);
            ExprState* compiled = ExecInitExpr(reinterpret_cast<Expr*>(mapped), parent);
            (part == 0 ? aggregate->filter : aggregate->argument) = compiled;
        }
    }
}

void escaped_rows_bind(EscapedRows* escaped, const ResultView* view) {
    emitter_bind_result(&escaped->columns, view);
    for (int i = 0; i < escaped->slot->tts_tupleDescriptor->natts; i++)
        bind_result_column(&escaped->values[i], view);
}

void emit_escaped_row(const EscapedRows* escaped, uint32_t row, ExprContext* context) {
    TupleTableSlot* slot = escaped->slot;
    ExecClearTuple(slot);
    for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++) {
        slot->tts_isnull[i] = is_null_at(&escaped->values[i], row);
        slot->tts_values[i] = slot->tts_isnull[i] ? Datum{0} : value_at(escaped, i, row);
    }
    ExecStoreVirtualTuple(slot);
    context->ecxt_scantuple = slot;
    escaped->caller->curaggcontext = CurrentMemoryContext;
    emit_result(const_cast<Emitter*>(&escaped->columns), row);
    TupleTableSlot* group = escaped->columns.slot;
    for (int i = 0; i < escaped->aggregate_count; i++) {
        const EscapedAggregate* aggregate = &escaped->aggregates[i];
        NullableDatum state = partial_state(escaped, aggregate, context);
        group->tts_values[aggregate->target] = state.value;
        group->tts_isnull[aggregate->target] = state.isnull;
    }
}

}  // namespace gpujoin
