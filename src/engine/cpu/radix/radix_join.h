// The radix join: both sides partitioned by the bits of their mixed keys, then joined a partition at a time
// with a table that stays in a core's cache. Results come in any order and name no probe rows.
//
// Partitioning reads and writes both sides once, in order, where one table costs a cache miss for each row of
// either. It needs a client that takes results in any order, probe batches as large as the build side, about,
// and a packed key of at most 8 bytes that is the whole condition of an inner join.
#pragma once

#include <memory>

#include "engine/cpu/results/cursor.h"

namespace gpujoin::cpu {

// At seal: whether it may be used, for probe batches that are large enough (partitioning_pays()).
bool radix_applies(const JoinContext& join);

// A partitioned build side.
class RadixJoin {
  public:
    virtual ~RadixJoin() = default;
    virtual Status probe(SealedJoin& join, const BatchView& batch, std::unique_ptr<Cursor>* cursor) const = 0;
};

Status make_radix_join(JoinContext& join, std::unique_ptr<RadixJoin>* made);

}  // namespace gpujoin::cpu
