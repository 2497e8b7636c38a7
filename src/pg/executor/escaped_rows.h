// EscapedRows: rows that came back because an engine could not compute an argument or a filter of an
// aggregate. Each becomes a partial group of its own: PostgreSQL's transition functions are called for it, as
// its own aggregates would, which raises the errors that they would.
#pragma once

#include "pg/client/client.h"
#include "pg/executor/emitter.h"
#include "pg/plan_data.h"

extern "C" {
#include "postgres.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

struct EscapedAggregate;

struct EscapedRows {
    uint16_t input_of[kMaxPlanValues];  // of the sink: which one each value that programs read is
    TupleTableSlot* slot;               // of these values
    EmitResultColumn* values;           // into the slot
    const PlanValues* kinds;            // how they are encoded
    Emitter columns;                    // what is grouped by and what any row gives, into the group's slot
    EscapedAggregate* aggregates;
    int aggregate_count;
    WindowAggState* caller;  // as whose calls transition functions know that they are of an aggregate
};

// group_slot: what groups are emitted to. values, pairs: kValueExprs and kArgumentExprs of the plan.
void init_escaped_rows(EscapedRows* escaped, PlanState* parent, const GroupsPlan* plan,
                       const FragmentSpec* spec, TupleTableSlot* group_slot, List* values, List* pairs);

// The result of escaped rows that later ones are of.
void escaped_rows_bind(EscapedRows* escaped, const ResultView* view);

// Puts the partial group of a row into the group's slot, which is being filled. Allocates in the current
// memory context, which is the per-tuple one of `context`.
void emit_escaped_row(const EscapedRows* escaped, uint32_t row, ExprContext* context);

}  // namespace gpujoin
