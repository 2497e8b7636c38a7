// GroupEmitter: values of the scan tuple that are made of several columns of a group, or otherwise than by
// pointing at them: transition states of PostgreSQL's aggregates. EscapedRows: rows that came back because an
// argument or a filter of an aggregate could not be computed.
#pragma once

#include "pg/client/client.h"
#include "pg/plan_data.h"

extern "C" {
#include "postgres.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

// A column of the bound result.
struct GroupColumn {
    int column;
    const std::byte* values;
    const uint8_t* validity;
};

struct EmitState {
    int target;  // in the slot, from 0
    StateForm form;
    int16 type_length;  // Number
    GroupColumn value;
    GroupColumn count;
};

struct GroupEmitter {
    EmitState* states;
    int count;
};

// The result that later groups are of.
void group_emitter_bind(GroupEmitter* emitter, const ResultView* view);

// Puts a group's states into the slot, which is being filled. Allocates in the current memory context what
// the slot then points to.
void emit_states(const GroupEmitter* emitter, uint32_t row, TupleTableSlot* slot);

// The arguments and filters of all aggregates, over a slot of the values that programs read.
struct EscapedRows {
    uint16_t input_of[kMaxPlanValues];  // of the sink: which one each value is
    TupleTableSlot* slot;
    int pairs;
    ExprState** filters;
    ExprState** arguments;
};

// parent: of the expressions.
void init_escaped_rows(EscapedRows* escaped, PlanState* parent, List* values, List* pairs);

// Evaluates what core would evaluate for the first row of a result of escaped rows, which raises the error
// that core would.
void raise_escaped(const EscapedRows* escaped, const ResultView* view, ExprContext* context);

}  // namespace gpujoin
