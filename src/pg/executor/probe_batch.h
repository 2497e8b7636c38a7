// ProbeBatch: the probe columns that the query needs above the join, kept in the backend while their batch is
// in flight: column-major Datums, by-reference values copied into the batch's own arena. Recycled batch by
// batch, so that a backend holds no more than its batches in flight.
#pragma once

extern "C" {
#include "postgres.h"
#include "executor/tuptable.h"
}

#include "pg/executor/row_set.h"

namespace gpujoin {

struct KeptColumn {
    AttrNumber attribute;  // of the probe child's slot
    bool by_value;
    int16 type_length;
};

struct ArenaChunk;

struct ProbeBatch {
    const KeptColumn* kept;
    int kept_count;
    uint64_t sequence;      // as sent
    uint64_t first_number;  // of its rows in their file, where matches are flagged (match_flags.h)
    uint32_t rows;
    uint32_t capacity;  // of the arrays
    Datum** values;     // [kept column][row]
    bool** nulls;
    MemoryContext context;  // of arrays and chunks
    ArenaChunk* chunks;     // newest first
    ArenaChunk* spare;      // empty
    Size chunk_used;
    Size arena_bytes;  // handed out since probe_batch_begin()
};

void probe_batch_init(ProbeBatch* batch, MemoryContext context, const KeptColumn* kept, int kept_count);

// Frees its memory. The batch may be used again.
void probe_batch_free(ProbeBatch* batch);

// Empties the batch and makes room for `capacity` rows.
void probe_batch_begin(ProbeBatch* batch, uint32_t capacity);

// Adds the slot's row. False when the batch holds enough bytes to be sent now.
bool probe_batch_keep(ProbeBatch* batch, TupleTableSlot* slot);
// Adds the first `count` rows of a set.
bool probe_batch_keep_rows(ProbeBatch* batch, const RowSet* set, uint32_t count);

}  // namespace gpujoin
