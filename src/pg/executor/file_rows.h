// FileRows: the rows of a file (row_file.h) in sets, as a table's pages give them.
#pragma once

#include "pg/executor/row_file.h"
#include "pg/executor/row_flags.h"

extern "C" {
#include "postgres.h"
#include "executor/tuptable.h"
}

namespace gpujoin {

inline constexpr uint32 kMostRowsOfFileSet = 256;

struct FileRows {
    RowFormat* format;
    RowFile* file;          // nullptr: none is read
    const RowFlags* flags;  // of its rows; nullptr: none
    RowsRead read;          // which of them are
    uint64 number;          // of rows read so far, and left out
    uint32 count;           // in memory
    uint32 taken;           // of these

    // By column of the format: values in memory.
    Datum** values;
    bool** nulls;
    bool* has_nulls;
    // By attribute of the slot: those that were not taken.
    RowSet set;
    const Datum** shown_values;
    const bool** shown_nulls;
    bool* shown_has_nulls;
};

// Of files with these attributes of rows of the descriptor. Allocates in the context.
FileRows* file_rows_create(MemoryContext context, TupleDesc descriptor, const Bitmapset* attributes);

// From now on reads this file, from its start; nullptr: none.
void file_rows_begin(FileRows* rows, RowFile* file, const RowFlags* flags, RowsRead read);

// Those that were not taken yet, or the next ones, one at a time where they have flags; nullptr at the end.
// Valid until the next call that comes after all of them were taken.
const RowSet* file_rows_next(FileRows* rows);
inline void file_rows_take(FileRows* rows, uint32 count) {
    rows->taken += count;
}

}  // namespace gpujoin
