// See division.h.
#include "pg/executor/division.h"

#include "pg/executor/key_hash.h"

extern "C" {
#include "miscadmin.h"
}

namespace gpujoin {

void add_spread(HashSpread* sum, const HashSpread* one) {
    sum->has_null |= one->has_null;
    if (!one->has_hash) return;
    if (!sum->has_hash) sum->first_hash = one->first_hash;
    sum->has_hash = true;
    sum->differs |= one->differs || one->first_hash != sum->first_hash;
}

namespace {

void note_hash(HashSpread* spread, const HashedRow& row) {
    HashSpread one = {};
    one.has_null = row.has_null;
    one.has_hash = !row.has_null;
    one.first_hash = row.hash;
    add_spread(spread, &one);
}

// Of files that are new.
void count_bytes(GpuJoinState* state, RowFile** files, int count) {
    for (int i = 0; i < count; i++) state->partitions.figures.bytes += files[i]->bytes;
}

}  // namespace

HashSpread divide_by_keys(GpuJoinState* state, Side* side, const JoinStage* stage, int depth, RowFile** files,
                          int count) {
    HashSpread spread = {};
    KeyHasher hasher = make_key_hasher(state, stage, side == &state->probe.side);
    int shift = 64 - kDivisionBits * (depth + 1);
    uint64 turn = 0;
    HashedRow rows[kMostRowsOfSet];
    while (const RowSet* set = side_next_set(side)) {
        CHECK_FOR_INTERRUPTS();
        hash_keys(&hasher, set, rows);
        for (uint32 i = 0; i < set->rows; i++) {
            note_hash(&spread, rows[i]);
            uint64 number = rows[i].has_null ? turn++ : rows[i].hash >> shift;
            side_write_row(side, set, i, files[number & (count - 1)]);
        }
    }
    free_key_hasher(&hasher);
    count_bytes(state, files, count);
    return spread;
}

void divide_in_turn(GpuJoinState* state, Side* side, RowFile** files, int count) {
    int turn = 0;
    while (const RowSet* set = side_next_set(side)) {
        CHECK_FOR_INTERRUPTS();
        for (uint32 i = 0; i < set->rows; i++, turn = (turn + 1) % count)
            side_write_row(side, set, i, files[turn]);
    }
    count_bytes(state, files, count);
}

}  // namespace gpujoin
