// See partitions.h.
#include "pg/executor/partitions.h"

#include "pg/executor/spec.h"

#include "pg/allocate.h"
#include "pg/client/connection.h"
#include "pg/executor/division.h"
#include "pg/executor/key_hash.h"
#include "pg/executor/lone_stage.h"
#include "pg/executor/partition.h"
#include "pg/executor/pieces.h"
#include "pg/executor/shared_partitions.h"
#include "pg/report.h"
#include "pg/wait_events.h"

extern "C" {
#include "port/pg_bitutils.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int kFewestPieces = 2;
constexpr int kMostCuts = 100;  // of the same rows, of which some are too large
// Who has all but this part of the rows after a division has one key, or few, by which no more is divided.
constexpr uint64 kMostOfAll = 8;
// A build side with less than this part of all is not divided: the others are what takes the memory.
constexpr int kLeastShare = 64;

// A join that is refused with less is short of memory because of others, and waits for that first: ten times
// as much is at hand for each, which keys of four bytes take in a hash table.
constexpr uint64 kSmallBytes = uint64{64} << 10;
constexpr int kPatienceMs = 1000;
constexpr int kRetryMs = 10;
constexpr int kHoldPatienceMs = 3000;

MemoryContext context_of(const GpuJoinState* state) {
    return state->css.ss.ps.state->es_query_cxt;
}

// --- Which build side

bool has_keys_to_divide_by(const BuildPart* build) {
    return !build->keys_are_equal && build->divisions < kMostDivisions;
}

// partition: nullptr, of the join as a whole. Rows that are flagged keep their places in their file.
bool can_be_divided_by_keys(const GpuJoinState* state, const Partition* partition, int stage) {
    if (partition && (partition->flags_matches || !has_keys_to_divide_by(&partition->builds[stage])))
        return false;
    return can_hash_keys(state, &state->stages[stage]);
}

bool can_be_divided(const GpuJoinState* state, const Partition* partition, int stage) {
    if (partition && (partition->builds[stage].divisions >= kMostCuts || partition->builds[stage].is_one_row))
        return false;
    return can_be_divided_by_keys(state, partition, stage) || can_be_cut(state, partition, stage);
}

// As far as it is known: values may be compressed in files, and what was refused was not read to its end.
uint64 bytes_of(const GpuJoinState* state, const Partition* partition, int stage) {
    const uint64 sent = state->stages[stage].sent_bytes;
    return partition ? Max(sent, partition->builds[stage].input.rows->bytes) : sent;
}

// The largest, if it has its share of all; kNoStage where none can be divided by which anything is gained.
int choose_stage(const GpuJoinState* state, const Partition* partition) {
    uint64 total = 0, most = 0;
    int largest = kNoStage;
    for (int i = first_stage(state); i < end_of_stages(state); i++) {
        const uint64 bytes = bytes_of(state, partition, i);
        total += bytes;
        if (!can_be_divided(state, partition, i) || (largest != kNoStage && bytes <= most)) continue;
        largest = i;
        most = bytes;
    }
    const bool is_empty = partition && most == 0;
    return is_empty || most < total / kLeastShare ? kNoStage : largest;
}

// --- Reading

void forget_attempt(GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++) {
        state->stages[i].was_read = false;
        state->stages[i].sent_bytes = 0;
    }
}

void read_input(Side* side, const InputPart* input) {
    side_read_file(side, input->rows, input->flags, input->read);
}

// Where matches are flagged, a result has to say of which rows.
void run_as(GpuJoinState* state, const Partition* partition) {
    Partitions* partitions = &state->partitions;
    for (int i = 0; i < state->plan.stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        stage->kind = stage->spec->kind = partition ? partition->builds[i].kind : stage->plan->kind;
        bool carries = state->probe.carries && !(partition && partition->flags_matches);
        set_result_order(state, stage->spec, carries);
    }
    partitions->matches = {};
    partitions->lone.runs = false;
    if (!partition || !partition->flags_matches) return;
    const InputPart* searched_by = input_of(partition, partition->searcher);
    partitions->matches.flags = searched_by->flags;
    partitions->matches.leaves_out = searched_by->read == RowsRead::Unflagged;
    partitions->matches.is_silent = partition->is_silent;
    if (partition->cut_is_alone) run_stage_alone(state, partition->cut, partition->searcher);
}

// From the start, also after an attempt.
void read_current(GpuJoinState* state) {
    const Partition* current = state->partitions.current;
    forget_attempt(state);
    read_input(&state->probe.side, &current->probe);
    for (int i = 0; i < state->plan.stage_count; i++)
        read_input(&state->stages[i].build, &current->builds[i].input);
    run_as(state, current);
}

// The probe child has not been read further than its first row.
void reread_build_sides(GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++)
        if (state->stages[i].was_read) side_reread(&state->stages[i].build);
    forget_attempt(state);
}

// --- Dividing

// Pieces that are likely to find room where so many bytes did.
int count_pieces(uint64 bytes, uint64 attempted) {
    uint64 pieces = 2 * bytes / Max(attempted, kSmallBytes) + 1;
    return static_cast<int>(
        Min(Max(pieces, static_cast<uint64>(kFewestPieces)), static_cast<uint64>(kDivisionFiles)));
}

void push(Partitions* partitions, PartitionList* list) {
    if (list->count == 0) return;
    *list->end = partitions->waiting;
    partitions->waiting = list->first;
    partitions->figures.count += list->count;
}

void make_partitions(GpuJoinState* state, const Partition* of, int stage, int count) {
    Partition* parts[kDivisionFiles];
    RowFile* builds[kDivisionFiles];
    RowFile* probes[kDivisionFiles];
    PartitionList list = empty_list();
    for (int i = 0; i < count; i++) {
        builds[i] = row_file_create(context_of(state));
        probes[i] = row_file_create(context_of(state));
        parts[i] = partition_copy(state, of);
        input_part_set(&parts[i]->builds[stage].input, builds[i]);
        input_part_set(&parts[i]->probe, probes[i]);
        parts[i]->passes++;
        add_to_list(&list, parts[i]);
    }
    JoinStage* divided = &state->stages[stage];
    int depth = of->builds[stage].divisions;
    HashSpread spread = divide_by_keys(state, &divided->build, divided, depth, builds, count);
    divide_by_keys(state, &state->probe.side, divided, depth, probes, count);
    uint64 bytes = 0;
    for (int i = 0; i < count; i++) bytes += builds[i]->bytes;
    for (int i = 0; i < count; i++) {
        parts[i]->builds[stage].divisions++;
        parts[i]->builds[stage].keys_are_equal =
            are_equal(spread) || builds[i]->bytes > bytes / kMostOfAll * (kMostOfAll - 1);
    }
    push(&state->partitions, &list);
}

void make_pieces(GpuJoinState* state, const Partition* of, int stage, int count) {
    PartitionList list = empty_list();
    add_pieces(state, of, stage, count, &list);
    push(&state->partitions, &list);
}

bool has_copies(const GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++)
        if (const RowFile* copy = state->stages[i].build.copy; copy && copy->bytes > 0) return true;
    return false;
}

// Writes an input to a file.
void write_input(GpuJoinState* state, Side* side, InputPart* input) {
    input_part_set(input, row_file_create(context_of(state)));
    divide_in_turn(state, side, &input->rows, 1);
}

// Where it can only be cut, the whole is written as one partition first, to know its size.
void partition_whole(GpuJoinState* state, int stage) {
    const bool by_keys = can_be_divided_by_keys(state, nullptr, stage);
    Partition* whole = partition_create(state);
    whole->attempted_bytes = attempted_bytes(state);
    whole->passes = has_copies(state) ? 1 : 0;
    reread_build_sides(state);
    for (int i = 0; i < state->plan.stage_count; i++)
        if (!by_keys || i != stage) write_input(state, &state->stages[i].build, &whole->builds[i].input);
    if (by_keys) {
        make_partitions(state, whole, stage, kDivisionFiles);
        partition_leave(whole, state->plan.stage_count);
    } else {
        write_input(state, &state->probe.side, &whole->probe);
        whole->passes++;
        PartitionList list = empty_list();
        add_to_list(&list, whole);
        push(&state->partitions, &list);
    }
    forget_copies(state);
    state->partitions.are_used = true;
}

void partition_current(GpuJoinState* state, int stage) {
    Partition* current = state->partitions.current;
    current->attempted_bytes = Max(attempted_bytes(state), current->attempted_bytes);
    int pieces = count_pieces(bytes_of(state, current, stage), current->attempted_bytes);
    read_current(state);
    if (can_be_divided_by_keys(state, current, stage))
        make_partitions(state, current, stage, static_cast<int>(pg_nextpower2_32(pieces)));
    else
        make_pieces(state, current, stage, pieces);
}

// Nothing is held meanwhile that others may wait for.
bool wait_for_others(Partitions* partitions) {
    if (partitions->waited_ms >= kPatienceMs) return false;
    int wait_ms = Max(kRetryMs, partitions->waited_ms / 4);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, wait_ms,
                    wait_event(Wait::Memory));
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    partitions->waited_ms += wait_ms;
    return true;
}

bool is_small(const GpuJoinState* state) {
    return attempted_bytes(state) < kSmallBytes;
}

Partition* take_next(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    Partition* next = partitions->waiting;
    if (next)
        partitions->waiting = next->next;
    else if (partitions->shared)
        next = take_shared_partition(state, partitions->shared, partitions->whole);
    return next;
}

}  // namespace

uint64 attempted_bytes(const GpuJoinState* state) {
    uint64 bytes = 0;
    for (int i = 0; i < state->plan.stage_count; i++) bytes += state->stages[i].sent_bytes;
    return bytes;
}

void hold_server(GpuJoinState* state) {
    Connection** hold = &state->partitions.hold;
    if (*hold && server_is_alive((*hold)->channel.generation)) return;
    let_server_go(state);
    ServerFacts server;
    read_server_facts(&server);
    if (server.phase != ServerPhase::Ready) return;
    TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kHoldPatienceMs);
    Status why;
    (void)connection_open(context_of(state), server, deadline, hold, &why);
}

void let_server_go(GpuJoinState* state) {
    Connection* hold = state->partitions.hold;
    state->partitions.hold = nullptr;
    if (hold) connection_close(hold);
}

bool is_partitioned(const GpuJoinState* state) {
    return state->partitions.are_used;
}

void reread_join(GpuJoinState* state) {
    if (state->partitions.current)
        read_current(state);
    else
        reread_build_sides(state);
}

int choose_division(const GpuJoinState* state, bool* by_keys) {
    const int stage = choose_stage(state, nullptr);
    *by_keys = stage != kNoStage && can_be_divided_by_keys(state, nullptr, stage);
    return stage == kNoStage && state->plan.stage_count > 0 ? first_stage(state) : stage;
}

void partition_join(GpuJoinState* state, const Status* refusal) {
    Partitions* partitions = &state->partitions;
    const bool may_wait = partitions->takes_reserve || (is_small(state) && !partitions->waits_in_vain);
    if (may_wait && wait_for_others(partitions)) return reread_join(state);
    const int stage = choose_stage(state, partitions->current);
    const bool can_be_divided = stage != kNoStage && attempted_bytes(state) > 0;
    if (partitions->takes_reserve && !can_be_divided) report_failure(*refusal);
    const int waited_ms = partitions->waited_ms;
    const bool waits_in_vain = partitions->waits_in_vain || waited_ms >= kPatienceMs;
    partitions->waits_in_vain = waits_in_vain;
    partitions->takes_reserve = !can_be_divided;
    if (partitions->takes_reserve) return reread_join(state);
    if (is_partitioned(state))
        partition_current(state, stage);
    else
        partition_whole(state, stage);
    next_partition(state);
    partitions->waited_ms = waited_ms;
    partitions->waits_in_vain = waits_in_vain;
}

void forget_copies(GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++) {
        RowFile* copy = state->stages[i].build.copy;
        if (!copy) continue;
        state->partitions.figures.bytes += copy->bytes;
        row_file_clear(copy);
    }
}

void take_shared_partitions(GpuJoinState* state, SharedPartitions* shared) {
    Partition* whole = open_shared_whole(state, shared);
    whole->passes = has_copies(state) ? 1 : 0;
    forget_copies(state);
    state->partitions.are_used = true;
    state->partitions.shared = shared;
    state->partitions.whole = whole;
}

bool next_partition(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    if (partitions->current) partition_leave(partitions->current, state->plan.stage_count);
    partitions->current = is_partitioned(state) ? take_next(state) : nullptr;
    partitions->waited_ms = 0;
    const bool found_memory = attempted_bytes(state) > 0 && !partitions->takes_reserve;
    partitions->waits_in_vain = partitions->waits_in_vain && !found_memory;
    partitions->takes_reserve = false;
    if (!partitions->current) {
        let_server_go(state);
        return false;
    }
    partitions->figures.passes = Max(partitions->figures.passes, partitions->current->passes);
    read_current(state);
    return true;
}

void forget_partitions(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    int stages = state->plan.stage_count;
    let_server_go(state);
    forget_attempt(state);
    partitions->waited_ms = 0;
    partitions->waits_in_vain = partitions->takes_reserve = false;
    if (!is_partitioned(state)) return;
    if (partitions->current) partition_leave(partitions->current, stages);
    while (Partition* partition = partitions->waiting) {
        partitions->waiting = partition->next;
        partition_leave(partition, stages);
    }
    if (partitions->whole) partition_leave(partitions->whole, stages);
    for (int i = 0; i < stages; i++) side_read_file(&state->stages[i].build, nullptr);
    side_read_file(&state->probe.side, nullptr);
    run_as(state, nullptr);
    partitions->are_used = false;
    partitions->current = partitions->whole = nullptr;
    partitions->shared = nullptr;
}

}  // namespace gpujoin
