// TopRows: the keys of a node's best rows so far, where only the first ones of ORDER BY ... LIMIT are wanted.
// A row whose key comes after that many others cannot be among them. What is above sorts and counts as ever:
// whichever rows are left out, those are in it. It looks at the first thing that rows are ordered by only.
#pragma once

#include "pg/top_rows.h"

extern "C" {
#include "commands/explain.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

struct TopRows;

// nullptr: all rows are wanted. node: the one that gives the rows; its result has a descriptor already.
// Allocates in the current memory context, which outlives it.
TopRows* make_top_rows(const TopRowsPlan& plan, PlanState* node);

// Whether the row may be among the first ones. Rows that it is not asked of do not count. Does not keep
// anything of the slot.
bool may_be_among_top(TopRows* top, TupleTableSlot* slot);

// There are no more rows, or other ones come. Gives its memory back. top: may be nullptr.
void reset_top_rows(TopRows* top);

// left_out: rows that did not come to the node, in all loops.
void show_top_rows(const TopRowsPlan& plan, const PlanState* node, uint64 left_out, ExplainState* es);

// The next row that may be. next: gives the node's rows one by one, and an empty slot or nullptr at last.
template <typename Next>
TupleTableSlot* next_among_top(TopRows* top, const Next& next) {
    TupleTableSlot* slot = next();
    while (top && !TupIsNull(slot) && !may_be_among_top(top, slot)) {
        CHECK_FOR_INTERRUPTS();
        slot = next();
    }
    if (TupIsNull(slot)) reset_top_rows(top);
    return slot;
}

}  // namespace gpujoin
