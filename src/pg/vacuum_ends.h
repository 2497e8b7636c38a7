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

// How far the log of changes had come when the table was vacuumed last: no bit of its map that the caller can
// have seen was set after that. No vacuum has ended since, and none is running. PG_UINT64_MAX: it is not
// known, as on a standby. Takes VACUUM's lock of the table for a moment, without waiting; it is not known
// where somebody has that.
uint64 unvacuumed_since(Relation relation);

// The same for plans, but that a vacuum may be running.
uint64 latest_vacuum_end(Relation relation);

}  // namespace gpujoin
