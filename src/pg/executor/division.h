// Division: writes the rows of one input into files, by the hash of their keys or in turn.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

inline constexpr int kDivisionFiles = 1 << kDivisionBits;
inline constexpr int kMostDivisions = 64 / kDivisionBits;  // of the same rows

// What was seen of the hashes of an input's rows.
struct HashSpread {
    bool has_hash;
    uint64 first_hash;
    bool differs;   // another hash
    bool has_null;  // a row with a NULL in a key, which has none
};

inline bool are_equal(const HashSpread& spread) {
    return !spread.differs && !spread.has_null;
}

void add_spread(HashSpread* sum, const HashSpread* one);

// Writes all that a side is to read into `count` files, a power of two of at most kDivisionFiles, by the keys
// of a stage: those of its build side, or of the probe input. `depth` tells how often these rows were divided
// by the same keys before. A row with a NULL in a key, which has no partner, goes to any file.
HashSpread divide_by_keys(GpuJoinState* state, Side* side, const JoinStage* stage, int depth, RowFile** files,
                          int count);

// Into `count` files in turn.
void divide_in_turn(GpuJoinState* state, Side* side, RowFile** files, int count);

}  // namespace gpujoin
