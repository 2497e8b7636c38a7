// HeapDeformer: the wanted columns of a page's tuples as arrays of Datums. A plan is made once a table: a
// tuple without NULLs is a chain of runs, in each of which attributes lie at fixed offsets, up to the next
// attribute of variable length or of greater alignment than what is known there. All tuples of the page are
// taken through a run, column by column, before they are stepped to the next one, so that no tuple waits for
// its own lengths. Tuples with NULLs or fewer columns than the table has today are walked attribute by
// attribute. By-reference Datums point into the tuples and are not detoasted.
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
    uint32 offset;   // in its run
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

// Attributes at fixed offsets from the run's start, and how to get from there to the next run.
struct HeapRun {
    int columns;                    // the number of the deformer's columns up to its last one
    uint32 end;                     // where the attribute that ends the run may begin
    const HeapAttribute* variable;  // that attribute; nullptr where only alignment ends the run
    uint8 align_mask;               // of the next run's start
};

struct HeapDeformer {
    int attributes;  // how far tuples are walked: the last wanted one
    HeapAttribute* attribute;
    int column_count;
    HeapColumn* columns;  // in the order of their attributes
    int run_count;
    HeapRun* runs;
};

// wanted: attribute numbers of the table, all of user columns. Allocates in the current memory context. The
// descriptor must live as long as the deformer.
HeapDeformer* heap_deformer_create(TupleDesc descriptor, const Bitmapset* wanted);

// Asks for the lines of the next page's rows while the current one's, which are given, are at hand, where the
// next ones are likely to lie too: all lines where rows are narrow, else the first two of each. They come in
// two halves, since a core waits for no more than some dozens of lines at a time. page: nullptr where it is
// not known. current: the page that the rows are on. second: the other half.
void heap_prefetch(const char* page, const char* current, const HeapTupleHeader* tuples, uint32 rows,
                   bool second);

// Fills the columns' first `rows` entries from the tuples, whose page must stay pinned as long as
// by-reference values are used.
void heap_deform(HeapDeformer* deformer, const HeapTupleHeader* tuples, uint32 rows);

// Keeps the `count` rows of the columns whose numbers are given in ascending order.
void heap_keep_rows(HeapDeformer* deformer, const uint16* rows, uint32 count);

}  // namespace gpujoin
