// Side: one input of the join, read from a child plan and written as batches: page by page where the child is
// a plain sequential scan (heap_scan.h), row by row through its slot otherwise.
#pragma once

#include "pg/executor/batch_writer.h"
#include "pg/executor/heap_scan.h"
#include "pg/executor/pace.h"
#include "pg/executor/probe_batch.h"

namespace gpujoin {

struct Side {
    PlanState* plan;
    Bitmapset* wanted;          // attributes of the child's slot that are read
    AttrNumber last_attribute;  // the highest of them that is read from the slot directly
    HeapScan* heap;             // nullptr: through the slot
    TupleTableSlot* unread;     // was fetched but has not been taken by a batch
    bool exhausted;
    BatchWriter writer;
};

// To be called before the first read: attributes that the batches take straight from the slot, or that the
// expressions of a column refer to as Vars of varno; then the choice of how to read.
void side_want(Side* side, AttrNumber attribute);
void side_want_columns(Side* side, Node* expression, Index varno);
void side_choose_source(Side* side);

// True when the input has no (further) row. Reads ahead.
bool side_is_empty(Side* side);

enum class Fill {
    Filled,   // a batch is ready to be finished and sent
    Empty,    // there was no row left
    NoBlock,  // results must be received first
};

// What a batch is to be.
struct BatchGoal {
    uint32_t rows;             // at most
    ProbeBatch* keep;          // has the rows too; nullptr: they are not kept
    const Patience* patience;  // nullptr: however long it takes
};

// Starts a batch and fills it from the child.
Fill side_fill_batch(Side* side, Client* client, const BatchGoal* goal);

// Forgets what was read; the child has been, or will be, rescanned.
void side_reset(Side* side);

}  // namespace gpujoin
