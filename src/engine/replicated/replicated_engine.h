// The replicated engine: several engines of one kind as one, for joins whose time is the engine's. Every
// replica of a join has the whole of each build side. A batch of source rows goes to the replica that is the
// least busy; kept rows to the one that has their chunk, so that a table's columns are spread over the
// devices. Each replica aggregates what it was given: its groups are partial ones, which come one replica
// after the other.
#pragma once

#include <memory>
#include <vector>

#include "engine/replicated/replica.h"

namespace gpujoin {

// Build rows that come out by whether they have found a match would have to be told so by all replicas.
bool can_be_replicated(const FragmentView& fragment);

// At most kMaxReplicas of them. Joins alone, and fragments that cannot be replicated, are refused (XX000).
// Complete groups are not promised.
std::unique_ptr<Engine> make_replicated_engine(std::vector<Replica> replicas);

}  // namespace gpujoin
