// See pieces.h.
#include "pg/executor/pieces.h"

#include "pg/executor/division.h"
#include "pg/executor/lone_stage.h"

namespace gpujoin {

namespace {

MemoryContext context_of(const GpuJoinState* state) {
    return state->css.ss.ps.state->es_query_cxt;
}

bool is_plain_join(const GpuJoinState* state) {
    return state->plan.stage_count == 1 && !state->plan.groups;
}

JoinKind kind_in(const GpuJoinState* state, const Partition* partition, int stage) {
    return partition ? partition->builds[stage].kind : state->stages[stage].plan->kind;
}

// No row comes out that is not of one build row, or rows are flagged already.
bool pieces_are_alike(const GpuJoinState* state, const Partition* partition, int stage) {
    if (partition && partition->flags_matches && partition->cut == stage) return true;
    const JoinRows rows = rows_of(kind_in(state, partition, stage));
    return !rows.unmatched_probe_rows && !rows.matched_probe_rows;
}

// The stage that comes first, if this one is to be cut; or kNoChild.
int stage_to_cut(const GpuJoinState* state, const Partition* partition, int stage) {
    if (is_plain_join(state) || pieces_are_alike(state, partition, stage)) return stage;
    int searcher = searcher_of(state, stage);
    if (searcher < 0) return searcher == kProbeChild ? stage : kNoChild;
    if (kind_in(state, partition, searcher) == JoinKind::Inner) return stage;
    return stage_to_cut(state, partition, searcher);
}

// What makes of the current partition's build side so many files.
struct Cut {
    int stage;
    int searcher;
    JoinKind kind;
    RowFlags* flags;
    RowFile* files[kDivisionFiles];
    int count;
    uint64 passes;    // of rows of the pieces
    bool is_one_row;  // at most
};

// One piece of all its rows is the file as it is.
void cut_build_side(GpuJoinState* state, const Partition* of, Cut* cut) {
    const InputPart* whole = &of->builds[cut->stage].input;
    if (cut->count == 1 && !whole->flags) {
        cut->files[0] = whole->rows;
        whole->rows->users++;
        return;
    }
    for (int i = 0; i < cut->count; i++) cut->files[i] = row_file_create(context_of(state));
    divide_in_turn(state, &state->stages[cut->stage].build, cut->files, cut->count);
    cut->passes = of->passes + 1;
    cut->is_one_row = cut->count > 1 && cut->files[1]->bytes == 0;
}

Partition* make_piece(const GpuJoinState* state, const Partition* of, const Cut* cut, int number) {
    Partition* piece = partition_copy(state, of);
    BuildPart* build = &piece->builds[cut->stage];
    cut->files[number]->users++;
    input_part_set(&build->input, cut->files[number]);
    build->divisions++;
    piece->passes = cut->passes;
    build->is_one_row |= cut->is_one_row;
    return piece;
}

// Of the rows that are (not) flagged, where none of the stage's build rows matter any more.
Partition* make_rest(const GpuJoinState* state, const Partition* of, const Cut* cut, RowsRead read,
                     JoinKind kind) {
    Partition* rest = partition_copy(state, of);
    input_part_set(&rest->builds[cut->stage].input, row_file_create(context_of(state)));
    rest->builds[cut->stage].kind = kind;
    input_part_read(input_of(rest, cut->searcher), cut->flags, read);
    return rest;
}

void make_flag_matches(Partition* piece, const Cut* cut, JoinKind kind) {
    piece->flags_matches = true;
    piece->cut = cut->stage;
    piece->searcher = cut->searcher;
    piece->builds[cut->stage].kind = kind;
    bool leaves_out = kind == JoinKind::Semi;
    input_part_read(input_of(piece, cut->searcher), cut->flags,
                    leaves_out ? RowsRead::Unflagged : RowsRead::All);
}

JoinKind piece_kind(JoinKind kind) {
    switch (kind) {
        case JoinKind::Left:
            return JoinKind::Inner;
        case JoinKind::Full:
            return JoinKind::Right;
        case JoinKind::Semi:
        case JoinKind::Anti:
            return JoinKind::Semi;
        case JoinKind::Inner:
        case JoinKind::Right:
        case JoinKind::RightSemi:
        case JoinKind::RightAnti:
            break;  // pieces_are_alike()
    }
    return kind;
}

void add_plain_pieces(const GpuJoinState* state, const Partition* of, const Cut* cut, PartitionList* list) {
    for (int i = 0; i < cut->count; i++) {
        Partition* piece = make_piece(state, of, cut, i);
        make_flag_matches(piece, cut, piece_kind(cut->kind));
        piece->is_silent = cut->kind == JoinKind::Anti;
        add_to_list(list, piece);
    }
    if (cut->kind == JoinKind::Semi) return;
    JoinKind kind = cut->kind == JoinKind::Anti ? JoinKind::Anti : JoinKind::Left;
    add_to_list(list, make_rest(state, of, cut, RowsRead::Unflagged, kind));
}

// A LEFT join has given nothing to search by.
void forget_searched(const GpuJoinState* state, Partition* partition, int left) {
    for (int i = left + 1; i < state->plan.stage_count; i++) {
        const JoinSpec* join = &state->stage_specs[i].join;
        if (searcher_of(state, i) != left || join->equalities + join->ranges + join->filters == 0) continue;
        input_part_set(&partition->builds[i].input, row_file_create(context_of(state)));
        if (partition->builds[i].kind == JoinKind::Left) forget_searched(state, partition, i);
    }
}

// What the lone stage has told apart.
void add_flagged_rows(const GpuJoinState* state, const Partition* of, const Cut* cut, PartitionList* list) {
    RowsRead passing = cut->kind == JoinKind::Semi ? RowsRead::Flagged : RowsRead::Unflagged;
    JoinKind kind = cut->kind == JoinKind::Left ? JoinKind::Left : JoinKind::Anti;
    Partition* rest = make_rest(state, of, cut, passing, kind);
    add_to_list(list, rest);
    if (cut->kind != JoinKind::Left) return;
    forget_searched(state, rest, cut->stage);
    for (int i = 0; i < cut->count; i++) {
        Partition* piece = make_piece(state, of, cut, i);
        piece->builds[cut->stage].kind = JoinKind::Inner;
        input_part_read(input_of(piece, cut->searcher), cut->flags, RowsRead::Flagged);
        add_to_list(list, piece);
    }
}

void add_chain_pieces(const GpuJoinState* state, const Partition* of, const Cut* cut, PartitionList* list) {
    for (int i = 0; i < cut->count; i++) {
        Partition* piece = make_piece(state, of, cut, i);
        make_flag_matches(piece, cut, JoinKind::Semi);
        piece->cut_is_alone = piece->is_silent = true;
        add_to_list(list, piece);
    }
    add_flagged_rows(state, of, cut, list);
}

// The rows that are searched by, in a file of their own if they were some of one.
Partition* with_rows_to_flag(GpuJoinState* state, const Partition* of, Cut* cut) {
    const int searcher = cut->searcher;
    Partition* copy = partition_copy(state, of);
    InputPart* input = input_of(copy, searcher);
    if (!input->flags) return copy;
    RowFile* rows = row_file_create(context_of(state));
    divide_in_turn(state, searcher == kProbeChild ? &state->probe.side : &state->stages[searcher].build,
                   &rows, 1);
    input_part_set(input, rows);
    cut->passes = of->passes + 1;
    return copy;
}

void add_told_apart(GpuJoinState* state, const Partition* of, Cut* cut, PartitionList* list) {
    cut->searcher = is_plain_join(state) ? kProbeChild : searcher_of(state, cut->stage);
    cut->flags = row_flags_create(context_of(state));
    Partition* copy = with_rows_to_flag(state, of, cut);
    if (is_plain_join(state))
        add_plain_pieces(state, copy, cut, list);
    else
        add_chain_pieces(state, copy, cut, list);
    partition_leave(copy, state->plan.stage_count);
    row_flags_leave(cut->flags);
}

}  // namespace

PartitionList empty_list() {
    return {nullptr, nullptr, 0};
}

void add_to_list(PartitionList* list, Partition* partition) {
    *(list->end ? list->end : &list->first) = partition;
    list->end = &partition->next;
    list->count++;
}

bool can_be_cut(const GpuJoinState* state, const Partition* partition, int stage) {
    return stage_to_cut(state, partition, stage) != kNoChild;
}

void add_pieces(GpuJoinState* state, const Partition* of, int stage, int count, PartitionList* list) {
    Cut cut = {};
    cut.stage = stage_to_cut(state, of, stage);
    cut.kind = of->builds[cut.stage].kind;
    cut.count = cut.stage == stage ? count : 1;
    cut.passes = of->passes;
    cut_build_side(state, of, &cut);
    if (pieces_are_alike(state, of, cut.stage))
        for (int i = 0; i < cut.count; i++) add_to_list(list, make_piece(state, of, &cut, i));
    else
        add_told_apart(state, of, &cut, list);
    for (int i = 0; i < cut.count; i++) row_file_leave(cut.files[i]);
}

}  // namespace gpujoin
