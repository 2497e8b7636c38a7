// WorkSize: how much a piece of work looks at, estimated before it begins. Small work of quick calls goes to
// urgent streams (stream.h): it takes next to nothing from the others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/plan.h"

namespace gpujoin::cuda {

struct WorkSize {
    uint64_t rows = 0;   // read or written
    uint64_t pairs = 0;  // tested

    // A few milliseconds of a device.
    bool is_small() const { return rows <= 16u << 20 && pairs <= 256u << 20; }
};

// Probing with so many rows. is_made: whether there is a lookup structure, in which rows are looked up; else
// it is made first, or the whole build side is read, as merging does.
inline WorkSize size_of_probe(const JoinPlan& plan, uint64_t rows, uint64_t build_rows, bool is_made) {
    const bool reads_all = !is_made || plan.merge;
    const bool tests_all = plan.tests_candidates() && !plan.by_key;
    return {rows + (reads_all ? build_rows : 0), tests_all ? rows * std::max<uint64_t>(1, build_rows) : 0};
}

}  // namespace gpujoin::cuda
