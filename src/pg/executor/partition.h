// Partition: the files of a part of a join that is joined by itself.
#pragma once

#include "pg/executor/row_file.h"

namespace gpujoin {

// A stage's build side, or what is of it.
struct BuildPart {
    RowFile* rows;
    int divisions;        // how often it was divided to get here
    bool keys_are_equal;  // of all rows, or their hashes are
};

struct Partition {
    Partition* next;
    RowFile* probe;
    uint64 attempted_bytes;                   // that the server had taken before it refused more
    BuildPart builds[FLEXIBLE_ARRAY_MEMBER];  // by stage
};

// Without files.
Partition* partition_create(MemoryContext context, int stages);

// Gives up its share of its files, and frees it.
void partition_leave(Partition* partition, int stages);

}  // namespace gpujoin
