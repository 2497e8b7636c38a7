// Side: one input of the join, read from a child plan and written as batches: page by page where the child is
// a plain sequential scan (heap_scan.h), or has such ones to pass on, row by row through its slot otherwise.
// Of a join that is partitioned (partitions.h), read from a file of rows in place of the child.
#pragma once

#include "pg/executor/batch_writer.h"
#include "pg/executor/file_rows.h"
#include "pg/executor/heap_scan.h"
#include "pg/executor/kept_source.h"
#include "pg/executor/pace.h"
#include "pg/executor/probe_batch.h"

namespace gpujoin {

// What is read: a child plan, or one of those of an Append, which are read one after the other in its place.
struct SidePart {
    PlanState* plan;
    HeapScan* heap;    // nullptr: through the slot
    KeptSource* kept;  // before that, rows that need not be read; nullptr: none
};

// The row of a slot as a set.
struct SlotRow {
    RowSet set;  // nothing: not needed so far
    const Datum** values;
    const bool** nulls;
};

struct Side {
    PlanState* plan;
    SidePart* parts;  // in their order; at least one
    int part_count;
    int part;                   // that is read
    Bitmapset* wanted;          // attributes of the child's slot that are read
    AttrNumber last_attribute;  // the highest of them that is read from the slot directly
    FileRows* file_rows;        // of files that are written, or read; nullptr: not needed so far
    bool reads_file;            // rather than the child
    RowFile* copy;              // gets the child's rows, where they must not be asked for twice; or nullptr
    SlotRow slot_row;           // of rows that come through the child's slot, where they are wanted as sets
    TupleTableSlot* unread;     // was fetched but has not been taken by a batch
    bool exhausted;
    BatchWriter writer;
};

// Allocates in the current memory context.
void side_init(Side* side, PlanState* plan);

// To be called before the first read: attributes that the batches take straight from the slot, or that the
// expressions of a column refer to as Vars of varno; then the choice of how to read.
void side_want(Side* side, AttrNumber attribute);
void side_want_columns(Side* side, Node* expression, Index varno);
void side_choose_source(Side* side);

inline SidePart* part_of(Side* side) {
    return &side->parts[side->part];
}

// True when the part has no (further) row. Reads ahead.
bool side_is_empty(Side* side);

// Whether some rows of the next part may be kept by the server, which must be asked first.
bool side_may_keep_next(const Side* side);
// Goes on to the next part. False when there is none.
bool side_next_part(Side* side);

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

// Starts a batch and fills it from the part, and those that follow it as far as nothing is kept of them.
Fill side_fill_batch(Side* side, Client* client, const BatchGoal* goal);

// The next rows, for those who want them without a batch: what is wanted of them. nullptr at the end. They
// are taken, and valid until the next call; at most kMostRowsOfSet.
inline constexpr uint32_t kMostRowsOfSet =
    Max(static_cast<uint32_t>(MaxHeapTuplesPerPage), kMostRowsOfFileSet);
const RowSet* side_next_set(Side* side);

// From now on reads the file from its start, all of its rows or by their flags; nullptr: the child, from
// where it is.
void side_read_file(Side* side, RowFile* file, const RowFlags* flags = nullptr,
                    RowsRead read = RowsRead::All);

// Writes what is wanted of a row to a file.
void side_write_row(Side* side, const RowSet* set, uint32_t row, RowFile* file);

// Reads from the child again, from its start. (One with changed Params is rescanned when it is read.)
void side_rescan(Side* side);

// The session is over, in which kept rows were used.
void side_reset_kept(Side* side);

// Nothing more is read; before the child ends.
void side_end(Side* side);

// Reads the same rows again, from the copy where there is one.
void side_reread(Side* side);

}  // namespace gpujoin
