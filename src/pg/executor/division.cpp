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

HashSpread divide_by_keys(GpuJoinState* state, Side* side, const JoinStage* stage, int depth, RowFile** files,
                          int count) {
    HashSpread spread = {};
    KeyHasher hasher = make_key_hasher(state, stage, side == &state->probe.side);
    int shift = 64 - kDivisionBits * (depth + 1);
    uint64 turn = 0;
    while (TupleTableSlot* slot = side_next_row(side)) {
        CHECK_FOR_INTERRUPTS();
        HashSpread row = {};
        row.has_hash = hash_keys(&hasher, slot, &row.first_hash);
        row.has_null = !row.has_hash;
        add_spread(&spread, &row);
        uint64 number = row.has_hash ? row.first_hash >> shift : turn++;
        side_write_row(side, slot, files[number & (count - 1)]);
    }
    free_key_hasher(&hasher);
    return spread;
}

void divide_in_turn(Side* side, RowFile** files, int count) {
    for (int turn = 0; TupleTableSlot* slot = side_next_row(side); turn = (turn + 1) % count) {
        CHECK_FOR_INTERRUPTS();
        side_write_row(side, slot, files[turn]);
    }
}

}  // namespace gpujoin
