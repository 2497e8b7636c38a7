// Legacy baselines: sorting tuples by key (He et al. 2008).
#pragma once

#include "legacy_primitives.cuh"

namespace gpujoin::bench::legacy {

// Bitonic sort: chunks on the chip, the wide steps through device memory.
void bitonic_sort(Tuple* tuples, uint64_t rows);

// Quicksort: splits by sampled pivots until chunks fit on the chip, then bitonic sort within each. `scratch`
// has room for as many tuples. Chunks that pivots cannot split are sorted by bitonic_sort().
void quick_sort(Tuple* tuples, Tuple* scratch, uint64_t rows);

}  // namespace gpujoin::bench::legacy
