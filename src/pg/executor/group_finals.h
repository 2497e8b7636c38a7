// What core's final functions make of the transition states of complete groups: computed from the groups'
// numbers, as those functions do it, without making the states first where that is easy.
#pragma once

#include "pg/executor/group_emitter.h"
#include "pg/plan_data.h"

namespace gpujoin {

struct GroupFinals;

// The groups' entries and aggregates, in the plan's order; the emitter is that of the node that gives their
// states. Both outlive it. Allocates in the current memory context.
GroupFinals* make_group_finals(const GroupsPlan* plan, const GroupEmitter* emitter);

// Puts a group of the bound result into the slot, an entry a column, which is being filled. group: the slot
// with what needs no computing. Allocates in the current memory context what the slot then points to.
void emit_finals(const GroupFinals* finals, uint32_t row, const TupleTableSlot* group, TupleTableSlot* slot);

}  // namespace gpujoin
