// KeyHasher: hashes rows of an input by the keys of one join's equalities, as far as their probe keys are of
// the probe input, from their canonical bytes: rows of both sides that are equal in them have equal hashes.
#pragma once

#include "pg/executor/batch_writer.h"
#include "pg/executor/state.h"

namespace gpujoin {

struct KeyHasher {
    BatchWriter writer;  // of the keys alone
    char* allocated;
    std::byte* memory;  // in it: that rows are written to
    uint64 bytes;
    MemoryContext context;
};

// Whether a stage has such equalities.
bool can_hash_keys(const GpuJoinState* state, const JoinStage* stage);

// For the rows of its build side, or of the probe input. To be called only where can_hash_keys().
KeyHasher make_key_hasher(const GpuJoinState* state, const JoinStage* stage, bool is_probe_side);

struct HashedRow {
    uint64 hash;
    bool has_null;  // a key is NULL: the row has no partner, and no hash
};
// Hashes all rows of a set.
void hash_keys(KeyHasher* hasher, const RowSet* set, HashedRow* rows);

void free_key_hasher(KeyHasher* hasher);

}  // namespace gpujoin
