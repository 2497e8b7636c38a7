// RowFile: rows of one input in a temporary file of PostgreSQL's (buffile.h), written once and read from the
// start as often as wanted. The file is the resource owner's and goes with it, whatever happens; it counts
// towards temp_file_limit and lies in temp_tablespaces.
//
// A shared one lies in a set of files of a parallel query: each participant writes a part, and when all have
// published theirs, each may read the whole.
#pragma once

extern "C" {
#include "postgres.h"
#include "executor/tuptable.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"
}

namespace gpujoin {

// The name of a shared one within its set.
struct FileName {
    char text[32];
};

struct RowFile {
    MemoryContext context;  // lives as long as the file is used
    BufFile* file;          // is written or read; nullptr: there is none, or none is open
    uint64 bytes;
    int users;  // partitions that read it

    SharedFileSet* set;  // nullptr: it is this process's alone
    FileName name;
    int part;   // is written, or read last
    int parts;  // that there may be
};

RowFile* row_file_create(MemoryContext context);
// This participant's part of a shared one, to be written.
RowFile* row_file_create_part(MemoryContext context, SharedFileSet* set, FileName name, int part);
// A shared one of which all parts are published.
RowFile* row_file_open_parts(MemoryContext context, SharedFileSet* set, FileName name, int parts);

void row_file_add(RowFile* file, MinimalTuple row);
void row_file_rewind(RowFile* file);
// Puts the next row into the slot, which is one for minimal tuples. False at the end.
bool row_file_read(RowFile* file, TupleTableSlot* slot);
// Forgets all rows.
void row_file_clear(RowFile* file);
// One user less; the last one's going closes it. A part that was written is published by that.
void row_file_leave(RowFile* file);

}  // namespace gpujoin
