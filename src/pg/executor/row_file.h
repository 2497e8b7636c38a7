// RowFile: rows of one input in a temporary file of PostgreSQL's (buffile.h), written once and read from the
// start as often as wanted. The file is the resource owner's and goes with it, whatever happens; it counts
// towards temp_file_limit and lies in temp_tablespaces. A row is its length, a bit for each column where
// there are NULLs, and its values as tuples have them, so that those by reference are used where they were
// read. Behind the last one is a mark, without which rows have been lost (XX001).
//
// A shared one lies in a set of files of a parallel query: each participant writes a part, and when all have
// published theirs, each may read the whole.
#pragma once

#include "pg/executor/row_set.h"

extern "C" {
#include "postgres.h"
#include "nodes/bitmapset.h"
#include "storage/buffile.h"
#include "storage/sharedfileset.h"
}

namespace gpujoin {

// The name of a shared one within its set.
struct FileName {
    char text[32];
};

struct RowColumn {
    AttrNumber attribute;  // of the input's slot
    int16 length;          // pg_type.typlen
    bool by_value;
    uint8 alignment;  // bytes
};

// What rows of a file have: the same for all who write and read it.
struct RowFormat {
    Size alignment;    // of rows: what any of their values want
    Size fixed_bytes;  // that a row takes at most, but for values by reference
    int count;
    RowColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

struct RowFile {
    MemoryContext context;  // lives as long as the file is used
    BufFile* file;          // is written or read; nullptr: there is none, or none is open
    uint64 bytes;
    int users;  // partitions that read it

    bool is_written;  // now; else read, and has its mark
    char* memory;     // what is still to be written, or was read of it; nullptr: nothing
    Size room;        // in the memory
    Size filled;
    Size used;  // of what was read

    SharedFileSet* set;  // nullptr: it is this process's alone
    FileName name;
    int part;   // is written, or read last
    int parts;  // that there may be
};

// Of these attributes, from 1.
RowFormat* row_format_create(MemoryContext context, TupleDesc descriptor, const Bitmapset* attributes);

RowFile* row_file_create(MemoryContext context);
// This participant's part of a shared one, to be written.
RowFile* row_file_create_part(MemoryContext context, SharedFileSet* set, FileName name, int part);
// A shared one of which all parts are published.
RowFile* row_file_open_parts(MemoryContext context, SharedFileSet* set, FileName name, int parts);

// Adds a row of a set, which has all that the format names. Not to be called once the file was read.
void row_file_add(RowFile* file, const RowFormat* format, const RowSet* set, uint32 row);
void row_file_rewind(RowFile* file);
// Reads the next rows, so many at most, into an array for each of the format's columns, and says of which
// some value is NULL. How many they are; 0 at the end. Values by reference are valid until the next call.
uint32 row_file_read(RowFile* file, const RowFormat* format, uint32 most, Datum* const* values,
                     bool* const* nulls, bool* has_nulls);
// Forgets all rows.
void row_file_clear(RowFile* file);
// One user less; the last one's going closes it. A part that was written is published by that.
void row_file_leave(RowFile* file);

}  // namespace gpujoin
