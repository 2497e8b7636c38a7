// Partition: the files of a part of a join that is joined by itself, and how that is done.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// What is read of one input.
struct InputPart {
    RowFile* rows;
    RowFlags* flags;  // nullptr: none
    RowsRead read;    // of the rows, by their flags
};

// A stage's build side, or what is of it.
struct BuildPart {
    InputPart input;
    JoinKind kind;        // that the stage is run as
    int divisions;        // how often it was divided to get here
    bool keys_are_equal;  // of nearly all rows, or their hashes are
    bool is_one_row;
};

struct Partition {
    Partition* next;
    InputPart probe;
    uint64 passes;           // how often rows of it were written, at most
    uint64 attempted_bytes;  // that the server had taken before it refused more
    // Where the build side of `cut` is one of several pieces, which all rows of `searcher` pass, those rows
    // are flagged that have a match in this one. A row of theirs comes out no more than once, or only later.
    bool flags_matches;
    bool is_silent;     // no row comes out
    bool cut_is_alone;  // it finds matches and does nothing else: the other stages do not run
    int cut;
    int searcher;  // kProbeChild, or the stage whose build side has what `cut` is searched by
    BuildPart builds[FLEXIBLE_ARRAY_MEMBER];  // by stage
};

// Without files, of a join that runs as planned.
Partition* partition_create(const GpuJoinState* state);

// Another one of all that it has.
Partition* partition_copy(const GpuJoinState* state, const Partition* of);

// Gives up its share of its files, and frees it.
void partition_leave(Partition* partition, int stages);

InputPart* input_of(Partition* partition, int child);
const InputPart* input_of(const Partition* partition, int child);

// Has the input read this file, whose one user this becomes.
void input_part_set(InputPart* input, RowFile* rows);
// Has it read rows of its file by their flags.
void input_part_read(InputPart* input, RowFlags* flags, RowsRead read);

}  // namespace gpujoin
