// HeapDeformer: the wanted columns of a page's tuples as arrays of Datums. A plan is made once a table: the
// columns up to the first one of variable length lie at fixed offsets in tuples without NULLs and are read
// column by column; what lies beyond, and tuples with NULLs or fewer columns than the table has today, are
// walked attribute by attribute. By-reference Datums point into the tuples and are not detoasted.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "nodes/bitmapset.h"
}

namespace gpujoin {

// A wanted column. The arrays have room for MaxHeapTuplesPerPage rows.
struct HeapColumn {
    AttrNumber attribute;  // of the table
    int16 length;          // pg_attribute.attlen
    bool by_value;
    bool has_nulls;  // on this page; the array holds false throughout where not
    int32 offset;    // in tuples without NULLs; -1: varies
    Datum missing;   // the value in tuples that were written before the column was added
    bool missing_is_null;
    Datum* values;
    bool* nulls;
};

// An attribute on the way to the last wanted one.
struct HeapAttribute {
    int16 length;
    bool by_value;
    uint8 align_mask;    // alignment - 1
    HeapColumn* column;  // nullptr: passed over
};

struct HeapDeformer {
    int attributes;  // how far tuples are walked: the last wanted one
    HeapAttribute* attribute;
    int column_count;
    int fixed_columns;  // the first ones, which have a fixed offset
    HeapColumn* columns;
    int walk_from;  // the attribute at which tuples without NULLs vary, and where it may start
    uint32 walk_offset;
};

// wanted: attribute numbers of the table, all of user columns. Allocates in the current memory context. The
// descriptor must live as long as the deformer.
HeapDeformer* heap_deformer_create(TupleDesc descriptor, const Bitmapset* wanted);

// Fills the columns' first `rows` entries from the tuples, whose page must stay pinned as long as
// by-reference values are used.
void heap_deform(HeapDeformer* deformer, const HeapTupleHeader* tuples, uint32 rows);

// Keeps the `count` rows of the columns whose numbers are given in ascending order.
void heap_keep_rows(HeapDeformer* deformer, const uint16* rows, uint32 count);

}  // namespace gpujoin
