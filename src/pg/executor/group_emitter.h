// GroupEmitter: values of the scan tuple that are made of several columns of a group, or otherwise than by
// pointing at them: transition states of PostgreSQL's aggregates.
#pragma once

#include "pg/client/client.h"
#include "pg/executor/emitter.h"
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
    int scale;          // Decimal, DecimalState
    GroupColumn value;
    GroupColumn count;
    GroupColumn third;  // see EntryState
    int lower_scale;
};

struct GroupEmitter {
    EmitState* states;
    int count;
};

// What an aggregate adds up: a number of values, whose sum is in units of the scale's last digit.
struct GroupTotal {
    int64 count;
    int128 sum;
    int scale;
};

// Of a state that has one: CountAndSum, NumericState, DecimalState.
GroupTotal total_of(const EmitState* state, uint32_t row);
// The sum.
Datum numeric_of_total(const GroupTotal& total);

// What a FloatAverage comes to.
Datum average_of_floats(const EmitState* state, uint32_t row, bool* isnull);

// The transition state of a group of the bound result, as partial aggregation passes it on.
Datum state_datum(const EmitState* state, uint32_t row, bool* isnull);

// The column of results that a state of the form Column is emitted from, as the attribute.
EmitResultColumn emitted_column(const GroupsPlan* plan, const EntryState& state, int column,
                                Form_pg_attribute attribute);

// The result that later groups are of.
void group_emitter_bind(GroupEmitter* emitter, const ResultView* view);

// Puts a group's states into the slot, which is being filled. Allocates in the current memory context what
// the slot then points to.
void emit_states(const GroupEmitter* emitter, uint32_t row, TupleTableSlot* slot);

}  // namespace gpujoin
