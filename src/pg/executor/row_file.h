// RowFile: rows of one input in a temporary file of PostgreSQL's (buffile.h), written once and read from the
// start as often as wanted. The file is the resource owner's and goes with it, whatever happens; it counts
// towards temp_file_limit and lies in temp_tablespaces.
#pragma once

extern "C" {
#include "postgres.h"
#include "executor/tuptable.h"
#include "storage/buffile.h"
}

namespace gpujoin {

struct RowFile {
    BufFile* file;  // nullptr: no row was written
    uint64 rows;
    uint64 bytes;
    int users;  // partitions that read it
};

// In the memory context, which must live as long as the file is used.
RowFile* row_file_create(MemoryContext context);
void row_file_add(RowFile* file, MemoryContext context, MinimalTuple row);
void row_file_rewind(RowFile* file);
// Puts the next row into the slot, which is one for minimal tuples. False at the end.
bool row_file_read(RowFile* file, TupleTableSlot* slot);
// One user less; the last one's going closes it.
void row_file_leave(RowFile* file);

}  // namespace gpujoin
