// Searching the tree of zones (packed_terms.cuh): the zones among a probe row's candidates in which all of
// its packed terms may hold. A warp descends for each probe row, testing 32 nodes at once, so that the work
// grows with what is found, and a row that finds much is read in wide steps.
#pragma once

#include <cstdint>

#include "cuda/index/packed_terms.cuh"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// A probe batch, as searching sees it; not owned.
struct ZoneSearch {
    PackedTerms packed;
    const uint64_t* probe_keys;  // of the packed terms, `rows` for each
    uint64_t rows;
    const uint32_t* begin;  // by probe row: candidates are the positions [begin, begin + count)
    const uint32_t* count;
};

// Units are zones cut to a row's candidates; owners are probe rows. A unit without candidates is at kNoRow.
struct ZoneUnits {
    uint32_t* owners;
    uint32_t* positions;
};

// Writes how many units each probe row has, and `least` where it has fewer.
Status count_zones(const WorkContext& context, const ZoneSearch& search, uint64_t least, uint64_t* counts);

// Lists the units [first, first + units). starts: exclusive sums of the counts, rows + 1.
Status list_zones(const WorkContext& context, const ZoneSearch& search, const uint64_t* starts,
                  uint64_t first, uint64_t units, const ZoneUnits& list);

}  // namespace gpujoin::cuda
