// How much of what was kept of a table is true still, by samples: for plans, which would read the table in
// another way if they knew that there is nothing left. The proof itself is looked for when they run
// (kept_proof.h).
#pragma once

extern "C" {
#include "postgres.h"
#include "storage/block.h"
#include "utils/rel.h"
}

namespace gpujoin {

// The share, 0 to 1, of a table's blocks that would be proven now if all had been when the log of changes had
// come so far. Reads pages of the visibility map, 64 at most, and where they have changed since then looks at
// pages of the table that lie in shared buffers, about 128.
double estimate_proven_share(Relation relation, BlockNumber blocks, uint64 since);

}  // namespace gpujoin
