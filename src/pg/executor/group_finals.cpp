// See group_finals.h.
#include "pg/executor/group_finals.h"

#include "pg/allocate.h"
#include "pg/compat.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
}

namespace gpujoin {

namespace {

enum class FinalForm : uint8_t {
    Entry,     // is emitted as it is
    State,     // the transition state is the outcome
    Sum,       // numeric
    Average,   // numeric
    Quotient,  // float8
    Function,  // by core's functions, from the serialized state
};

struct Final {
    FinalForm form;
    int entry;  // of the group's slot, from 0
    const EmitState* state;
    FmgrInfo deserialize;
    FmgrInfo function;
    Oid collation;
};

FinalForm form_of(Oid aggregate, StateForm form) {
    switch (form) {
        case StateForm::Column:
            return FinalForm::Entry;
        case StateForm::Number:
        case StateForm::Single:
        case StateForm::Bigint:
        case StateForm::Decimal:
        case StateForm::Presence:
            return FinalForm::State;
        case StateForm::SquaresState:
            return FinalForm::Function;
        case StateForm::FloatAverage:
            return FinalForm::Quotient;
        case StateForm::CountAndSum:
        case StateForm::NumericState:
        case StateForm::DecimalState:
            break;
    }
    return aggregate == F_SUM_INT8 || aggregate == F_SUM_NUMERIC ? FinalForm::Sum : FinalForm::Average;
}

void find_functions(Oid aggregate, Final* final) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
    auto* form = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    fmgr_info(form->aggdeserialfn, &final->deserialize);
    fmgr_info(form->aggfinalfn, &final->function);
    ReleaseSysCache(tuple);
}

const EmitState* state_at(const GroupEmitter* emitter, int target) {
    for (int i = 0; i < emitter->count; i++)
        if (emitter->states[i].target == target) return &emitter->states[i];
    elog(ERROR, "groups have no state for an aggregate");
}

// The arguments behind the first one are NULL or not looked at.
Datum call(const FmgrInfo* function, Oid collation, Node* caller, Datum argument, bool* isnull) {
    LOCAL_FCINFO(info, 2);
    InitFunctionCallInfoData(*info, const_cast<FmgrInfo*>(function), function->fn_nargs, collation, caller,
                             nullptr);
    info->args[0] = {argument, false};
    info->args[1] = {Datum{0}, true};
    Datum result = FunctionCallInvoke(info);
    *isnull = info->isnull;
    return result;
}

Datum average_of(const GroupTotal& total) {
    return DirectFunctionCall2(numeric_div, numeric_of_total(total),
                               NumericGetDatum(int64_to_numeric(total.count)));
}

}  // namespace

struct GroupFinals {
    Final* finals;
    int count;
    WindowAggState* caller;  // core's functions want to be called for an aggregate
};

namespace {

Datum final_datum(const GroupFinals* finals, const Final* final, uint32_t row, bool* isnull) {
    if (final->form == FinalForm::State) return state_datum(final->state, row, isnull);
    if (final->form == FinalForm::Function) {
        auto* caller = reinterpret_cast<Node*>(finals->caller);
        Datum state = state_datum(final->state, row, isnull);
        state = call(&final->deserialize, InvalidOid, caller, state, isnull);
        return call(&final->function, final->collation, caller, state, isnull);
    }
    if (final->form == FinalForm::Quotient) return average_of_floats(final->state, row, isnull);
    const GroupTotal total = total_of(final->state, row);
    *isnull = total.count == 0;
    if (*isnull) return Datum{0};
    return final->form == FinalForm::Sum ? numeric_of_total(total) : average_of(total);
}

}  // namespace

GroupFinals* make_group_finals(const GroupsPlan* plan, const GroupEmitter* emitter) {
    auto* finals = zeroed<GroupFinals>();
    finals->finals = zeroed<Final>(plan->states + 1);
    finals->count = plan->states;
    finals->caller = makeNode(WindowAggState);
    for (int i = 0; i < plan->states; i++) {
        const EntryState& state = plan->state[i];
        Final* final = &finals->finals[i];
        final->entry = state.entry - 1;
        final->form = form_of(state.aggregate, state.form);
        final->collation = state.collation;
        if (final->form != FinalForm::Entry) final->state = state_at(emitter, final->entry);
        if (final->form == FinalForm::Function) find_functions(state.aggregate, final);
    }
    return finals;
}

void emit_finals(const GroupFinals* finals, uint32_t row, const TupleTableSlot* group, TupleTableSlot* slot) {
    finals->caller->curaggcontext = CurrentMemoryContext;
    for (int i = 0; i < finals->count; i++) {
        const Final* final = &finals->finals[i];
        if (final->form == FinalForm::Entry) {
            slot->tts_values[i] = group->tts_values[final->entry];
            slot->tts_isnull[i] = group->tts_isnull[final->entry];
        } else {
            slot->tts_values[i] = final_datum(finals, final, row, &slot->tts_isnull[i]);
        }
    }
}

}  // namespace gpujoin
