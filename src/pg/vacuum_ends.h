// When tables whose columns are kept have been vacuumed last: nothing but VACUUM sets bits of the map of a
// table that others can see, so that where it has not run all bits that are set have been set before. This
// proves what a page of the map cannot, which has another version when a bit was cleared, too
// (docs/design.md, Kept columns).
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/rel.h"
}

namespace gpujoin {

// Asks for shared memory, and looks at the end of all transactions. While shared_preload_libraries are loaded
// only.
void install_vacuum_ends();

// From now on it is known when the table is vacuumed. Of some thousand tables, those that were looked at
// least lately make room: then it is not known what was before.
void watch_vacuums(Relation relation);

// No bit of its map was set from when the log of changes had come so far to when this is called, as far as
// the caller can have seen: no vacuum that did so has ended, and none is running. Takes VACUUM's lock of the
// table for a moment, without waiting, and is false where that cannot be had.
bool is_unvacuumed_since(Relation relation, uint64 since);

// No vacuum of it has ended since, but one may be running: for plans.
bool seems_unvacuumed_since(Relation relation, uint64 since);

}  // namespace gpujoin
