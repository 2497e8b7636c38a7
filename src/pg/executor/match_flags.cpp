// See match_flags.h.
#include "pg/executor/match_flags.h"

namespace gpujoin {

namespace {

// The file's next row that was read, as far as rows of this batch are not flagged yet.
uint64 next_unflagged(const RowFlags* flags, uint64 number) {
    while (row_flags_test(flags, number)) number++;
    return number;
}

}  // namespace

void match_flags_begin_batch(const Side* side, ProbeBatch* batch) {
    if (side->reads_file) batch->first_number = side->file_rows->number - 1;
}

void flag_match(GpuJoinState* state, uint32_t probe_row) {
    MatchFlags* matches = &state->partitions.matches;
    const ProbeBatch* batch = oldest_batch(state);
    if (matches->sequence != batch->sequence) {
        matches->sequence = batch->sequence;
        matches->row = 0;
        matches->number = batch->first_number;
    }
    if (matches->leaves_out) {
        for (; matches->row < probe_row; matches->row++)
            matches->number = next_unflagged(matches->flags, matches->number + 1);
    } else {
        matches->number += probe_row - matches->row;
        matches->row = probe_row;
    }
    row_flags_set(matches->flags, matches->number);
}

void flag_matches(GpuJoinState* state) {
    const ResultView* view = &state->view;
    for (uint32_t i = state->next_row; i < view->rows; i++) flag_match(state, view->probe_rows[i]);
    state->next_row = view->rows;
}

}  // namespace gpujoin
