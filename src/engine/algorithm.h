// Which algorithm executes a join: what every engine decides, from the spec and the rows counted at seal.
#pragma once

#include <cstdint>

#include "wire/join_spec.h"

namespace gpujoin {

// Whether an algorithm can execute a join: hash looks equalities up, index ranges, sort_merge merges on
// either; nested_loop tests everything.
bool can_execute(Algorithm algorithm, const JoinSpec& spec);

// The algorithm that is forced, if it can execute the join; else the best by the terms and the rows counted.
Algorithm choose_algorithm(const JoinSpec& spec, uint64_t build_rows);

// Whether results may come as an algorithm finds them that keeps neither the order of probe rows nor their
// numbers.
bool gives_any_order(const JoinSpec& spec);

// Whether a hash join may partition both sides: results may come as they are found, of an inner join whose
// equalities are the whole condition.
bool may_partition(const JoinSpec& spec);

// Whether so many probe rows in a batch are worth partitioning: partitions that they hardly touch cost as
// much as others.
bool partitioning_pays(uint64_t build_rows, uint64_t probe_rows);

}  // namespace gpujoin
