// Core's parallel hash joins over our joins: as many processes take part as the build side is planned for.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// When a pair of relations has been tried: partial hash joins of its relation whose shared hash table is
// filled by a join of ours get the workers of that join, if they have fewer.
void widen_shared_hashes(RelOptInfo* joinrel);

}  // namespace gpujoin
