// What is known of a base relation's columns that are kept, or could be, whatever plans make of it.
#pragma once

#include "pg/keep_requests.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Of a base relation.
struct KeptFacts {
    bool may_be_kept;        // it is a table whose columns are kept when they are read again
    bool is_large;           // else it is read whatever is kept
    bool is_tested_by_kept;  // so are its conditions, or they will be
    Cost computing;          // what they take for a row, where they are tested on what is computed of it
    double share;            // of its rows that need not be read at present, about
    bool is_lost;            // most of what was kept of it has been changed since, or cannot be proven
    ChunkKey table;
    Bitmapset* attributes;  // that are read
};
const KeptFacts* kept_facts(PlannerInfo* root, RelOptInfo* rel);

// Of these tables nothing is kept, whatever is known; nullptr: of none. Gives what was said before. While it
// is said, relations are planned that nothing has been asked of before.
const TableSet* set_lacking(const TableSet* tables);

// Has the next scan of a relation that could be kept make and use what is not there yet.
void want_kept(PlannerInfo* root, RelOptInfo* rel);

}  // namespace gpujoin
