// BatchWriter: turns rows of a child plan into batches of wire columns, written once, straight into input
// blocks. Fixed-width columns have room for the batch's row capacity; the room for Bytes columns is shared
// out by the average size seen so far, and the batch ends when any of them is full. The row that did not fit
// goes into the next batch; a row that does not fit into an empty block gets a block of its own size.
#pragma once

#include <cstring>

#include "pg/client/client.h"
#include "pg/executor/row_set.h"
#include "pg/key_encoding.h"

extern "C" {
#include "postgres.h"
#include "executor/executor.h"
}

namespace gpujoin {

struct InputColumn;
struct KeyBound;
struct KeyHash;
struct KeyShift;

// Writes a value that is not NULL as the column's value of `row`. False when a Bytes column has no room, with
// the bytes it needs in column->wanted. May allocate in the current memory context, which the caller resets.
using PutValue = bool (*)(InputColumn* column, uint32_t row, Datum value);

// Writes the values of `count` rows from `row` on. nulls: nullptr where none is NULL. Returns how many had
// room. Never allocates.
using PutValues = uint32_t (*)(InputColumn* column, uint32_t row, const Datum* values, const bool* nulls,
                               uint32_t count);

struct Encoder {
    PutValue put;
    PutValues put_rows;  // nullptr where put may allocate
};

// A wire column of one input: where its values come from, how they are encoded, and where they go now.
struct InputColumn {
    ColumnSpec spec;
    Encoder encoder;
    AttrNumber attribute;   // of the child's slot; 0: evaluate the expression
    ExprState* expression;  // over the child's slot
    bool may_overflow;      // the expression, which is NULL then (overflow.h)
    KeyEncoding encoding;   // of keys and values; None: output columns
    Oid declared_type;      // then: what Datums are read as
    int16 type_length;      // output columns: pg_type.typlen
    int scale;              // decimals
    KeyHash* hash;          // keys that are encoded by their hash
    KeyShift* shift;        // keys that are an attribute plus or minus constants
    KeyBound* bound;        // keys that are bounds of ranges, or are compared with some
    bool has_nulls;         // in the batch being written
    uint8_t* validity;      // buffers in the block being written
    std::byte* values;
    uint32_t* offsets;
    std::byte* data;
    uint64_t room;    // bytes in data
    uint64_t wanted;  // bytes that a value alone in its batch needs
    double average;   // data bytes a row, so far
};

struct BatchWriter {
    InputColumn* columns;
    int column_count;
    int equality_columns;  // the first so many: a row with a NULL in one has no partner
    ExprContext* context;  // evaluates expressions and holds detoasted values; reset every row
    bool allocates;        // some column needs that context
    bool evaluates;        // some column is an expression
    Block block;           // being written
    Block spare;           // taken, but set aside for a larger one
    bool has_spare;
    uint32_t rows;
    uint32_t capacity;       // rows that the layout has room for
    ColumnBuffers* buffers;  // one a column
};

// Makes ready for a batch of at most target_rows rows; waits for a free block. False when results must be
// received before one can come free.
bool batch_begin(BatchWriter* writer, Client* client, uint32_t target_rows);

// Makes ready for a batch of so many rows in memory of the caller's, aligned as a buffer (kBufferAlignment),
// rather than in a block. False where more memory is needed, as where it refuses rows later.
bool batch_begin_rows(BatchWriter* writer, std::byte* memory, uint64_t bytes, uint32_t rows);

// Adds the row in the slot, whose attributes the caller has fetched. False when it does not fit; the batch is
// then as it was before, and every column that was too small knows what it wants.
bool batch_add(BatchWriter* writer, TupleTableSlot* slot);

// Adds the first `count` rows of a set, or as many of them as fit, and returns how many these are; as
// batch_add() otherwise.
uint32_t batch_add_rows(BatchWriter* writer, const RowSet* set, uint32_t count);

// After batch_add() refused the first row of a batch: finds a block and a layout that have room for it. False
// as in batch_begin(), which is then to be called again.
bool batch_make_room(BatchWriter* writer, Client* client);

// Fills writer->buffers for client_append() or client_probe(). The block is the server's after that.
void batch_finish(BatchWriter* writer);

// Forgets blocks, which went with their client.
void batch_writer_reset(BatchWriter* writer);

inline void put_null(InputColumn* column, uint32_t row) {
    column->has_nulls = true;
    column->validity[row >> 3] &= static_cast<uint8_t>(~(1u << (row & 7)));
    uint32_t width = fixed_width(column->spec.type);
    if (width)
        memset(column->values + uint64_t{width} * row, 0, width);
    else
        column->offsets[row + 1] = column->offsets[row];
}

template <PutValue put>
uint32_t put_each(InputColumn* column, uint32_t row, const Datum* values, const bool* nulls, uint32_t count) {
    if (!nulls) {
        for (uint32_t i = 0; i < count; i++)
            if (!put(column, row + i, values[i])) return i;
        return count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nulls[i])
            put_null(column, row + i);
        else if (!put(column, row + i, values[i]))
            return i;
    }
    return count;
}

// The encoder of a function that never allocates.
template <PutValue put>
inline constexpr Encoder encoder_of = {put, put_each<put>};

// Room for `bytes` bytes as the value of `row` in a Bytes column, or nullptr with column->wanted set.
inline std::byte* reserve_bytes(InputColumn* column, uint32_t row, uint64_t bytes) {
    uint32_t at = column->offsets[row];
    if (column->room - at < bytes) {
        column->wanted = bytes;
        return nullptr;
    }
    column->offsets[row + 1] = at + static_cast<uint32_t>(bytes);
    return column->data + at;
}

}  // namespace gpujoin
