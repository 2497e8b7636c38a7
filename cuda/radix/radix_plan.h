// Whether a join is to be radix-partitioned, decided at seal from counted facts.
#pragma once

#include <cstdint>

#include "cuda/plan.h"
#include "engine/key_layout.h"

namespace gpujoin::cuda {

// What matters of a device.
struct DeviceFacts {
    uint64_t cache_bytes = 0;   // L2
    uint64_t shared_bytes = 0;  // that one block may have
};

// Bits of the partition number; 0: the join is better, or only, done with one table in device memory.
//
// Partitioning reads and writes both sides once or twice in order, where one table costs a random access for
// each row of either. That pays as soon as the table is much larger than the cache, and if there are about as
// many probe rows as build rows. It needs both sides whole, results in any order, and a key that is the whole
// condition.
uint32_t plan_radix_bits(const JoinSpec& spec, const JoinPlan& plan, const KeyLayout& layout,
                         uint64_t build_rows, const DeviceFacts& device);

}  // namespace gpujoin::cuda
