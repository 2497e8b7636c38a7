// See partitions.h.
#include "pg/executor/partitions.h"

#include "pg/allocate.h"
#include "pg/executor/division.h"
#include "pg/executor/key_hash.h"
#include "pg/executor/partition.h"
#include "pg/executor/shared_partitions.h"
#include "pg/report.h"

extern "C" {
#include "port/pg_bitutils.h"
#include "storage/latch.h"
}

namespace gpujoin {

namespace {

constexpr int kFewestPieces = 2;
// A build side with less than this part of all is not divided: the others are what takes the memory.
constexpr int kLeastShare = 4;

// A join that is refused with less is short of memory because of others, and waits for that.
constexpr uint64 kSmallBytes = uint64{256} << 10;
constexpr int kPatienceMs = 1000;
constexpr int kRetryMs = 10;

MemoryContext context_of(const GpuJoinState* state) {
    return state->css.ss.ps.state->es_query_cxt;
}

// --- Which build side

// No probe row comes out by itself, nor once for all of its matches.
bool can_be_cut(const JoinStage* stage) {
    const JoinRows rows = rows_of(stage->plan->kind);
    return !rows.unmatched_probe_rows && !rows.matched_probe_rows;
}

// partition: nullptr, of the join as a whole.
bool can_be_divided_by_keys(const GpuJoinState* state, const Partition* partition, int stage) {
    return can_hash_keys(state, &state->stages[stage]) &&
           !(partition && partition->builds[stage].keys_are_equal);
}

bool can_be_divided(const GpuJoinState* state, const Partition* partition, int stage) {
    if (partition && partition->builds[stage].divisions >= kMostDivisions) return false;
    return can_be_divided_by_keys(state, partition, stage) || can_be_cut(&state->stages[stage]);
}

// The largest, if it has its share of all.
int choose_stage(const GpuJoinState* state, const Partition* partition, const Status* refusal) {
    uint64 total = 0, most = 0;
    int largest = -1;
    for (int i = 0; i < state->plan.stage_count; i++) {
        uint64 bytes = partition ? partition->builds[i].rows->bytes : state->stages[i].sent_bytes;
        total += bytes;
        if (!can_be_divided(state, partition, i) || (largest >= 0 && bytes <= most)) continue;
        largest = i;
        most = bytes;
    }
    if (largest < 0 || most < total / kLeastShare) report_failure(*refusal);
    return largest;
}

// --- Reading

void forget_attempt(GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++) {
        state->stages[i].was_read = false;
        state->stages[i].sent_bytes = 0;
    }
}

// From the start, also after an attempt.
void read_current(GpuJoinState* state) {
    const Partition* current = state->partitions.current;
    forget_attempt(state);
    side_read_file(&state->probe.side, current->probe);
    for (int i = 0; i < state->plan.stage_count; i++)
        side_read_file(&state->stages[i].build, current->builds[i].rows);
}

// The probe child has not been read further than its first row.
void reread_build_sides(GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++)
        if (state->stages[i].was_read) side_reread(&state->stages[i].build);
    forget_attempt(state);
}

// --- Dividing

// Pieces that are likely to find room where so many bytes did.
int count_pieces(const RowFile* build, uint64 attempted) {
    uint64 pieces = 2 * build->bytes / Max(attempted, kSmallBytes) + 1;
    return static_cast<int>(
        Min(Max(pieces, static_cast<uint64>(kFewestPieces)), static_cast<uint64>(kDivisionFiles)));
}

// Of another one, of which it shares all files but those that the division by a stage writes.
Partition* make_part(const GpuJoinState* state, const Partition* of, int divided, RowFile* probe) {
    Partition* part = partition_create(context_of(state), state->plan.stage_count);
    for (int i = 0; i < state->plan.stage_count; i++) {
        part->builds[i] = of->builds[i];
        if (i != divided) part->builds[i].rows->users++;
    }
    part->builds[divided].rows = row_file_create(context_of(state));
    part->builds[divided].divisions++;
    part->probe = probe;
    part->attempted_bytes = of->attempted_bytes;
    return part;
}

void push(Partitions* partitions, Partition** parts, int count) {
    for (int i = count - 1; i >= 0; i--) {
        parts[i]->next = partitions->waiting;
        partitions->waiting = parts[i];
    }
    partitions->count += count;
}

void make_partitions(GpuJoinState* state, const Partition* of, int stage, int count) {
    Partition* parts[kDivisionFiles];
    RowFile* builds[kDivisionFiles];
    RowFile* probes[kDivisionFiles];
    for (int i = 0; i < count; i++) {
        probes[i] = row_file_create(context_of(state));
        parts[i] = make_part(state, of, stage, probes[i]);
        builds[i] = parts[i]->builds[stage].rows;
    }
    JoinStage* divided = &state->stages[stage];
    int depth = of->builds[stage].divisions;
    HashSpread spread = divide_by_keys(state, &divided->build, divided, depth, builds, count);
    divide_by_keys(state, &state->probe.side, divided, depth, probes, count);
    for (int i = 0; i < count; i++) parts[i]->builds[stage].keys_are_equal = are_equal(spread);
    push(&state->partitions, parts, count);
}

void make_pieces(GpuJoinState* state, const Partition* of, int stage, int count) {
    Partition* parts[kDivisionFiles];
    RowFile* builds[kDivisionFiles];
    RowFile* probe = row_file_create(context_of(state));
    for (int i = 0; i < count; i++) {
        if (i > 0) probe->users++;
        parts[i] = make_part(state, of, stage, probe);
        builds[i] = parts[i]->builds[stage].rows;
    }
    divide_in_turn(&state->stages[stage].build, builds, count);
    divide_in_turn(&state->probe.side, &probe, 1);
    push(&state->partitions, parts, count);
}

// Where it can only be cut, the whole is written as one partition first, to know its size.
void partition_whole(GpuJoinState* state, const Status* refusal) {
    bool by_keys;
    int stage = choose_division(state, &by_keys, refusal);
    Partition* whole = partition_create(context_of(state), state->plan.stage_count);
    whole->attempted_bytes = attempted_bytes(state);
    reread_build_sides(state);
    for (int i = 0; i < state->plan.stage_count; i++) {
        whole->builds[i].rows = row_file_create(context_of(state));
        if (i != stage) divide_in_turn(&state->stages[i].build, &whole->builds[i].rows, 1);
    }
    if (by_keys)
        make_partitions(state, whole, stage, kDivisionFiles);
    else
        make_pieces(state, whole, stage, 1);
    partition_leave(whole, state->plan.stage_count);
    for (int i = 0; i < state->plan.stage_count; i++)
        if (state->stages[i].build.copy) row_file_clear(state->stages[i].build.copy);
    state->partitions.are_used = true;
}

void partition_current(GpuJoinState* state, const Status* refusal) {
    Partition* current = state->partitions.current;
    int stage = choose_stage(state, current, refusal);
    current->attempted_bytes = Max(attempted_bytes(state), current->attempted_bytes);
    read_current(state);
    int pieces = count_pieces(current->builds[stage].rows, current->attempted_bytes);
    if (can_be_divided_by_keys(state, current, stage))
        make_partitions(state, current, stage, static_cast<int>(pg_nextpower2_32(pieces)));
    else
        make_pieces(state, current, stage, pieces);
}

// Nothing is held meanwhile that others may wait for.
bool wait_for_others(Partitions* partitions) {
    if (partitions->waited_ms >= kPatienceMs) return false;
    int wait_ms = Max(kRetryMs, partitions->waited_ms / 4);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, wait_ms, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    partitions->waited_ms += wait_ms;
    return true;
}

// Reads the same once more.
void begin_again(GpuJoinState* state) {
    if (state->partitions.current)
        read_current(state);
    else
        reread_build_sides(state);
}

bool is_small(const GpuJoinState* state) {
    if (attempted_bytes(state) < kSmallBytes) return true;
    if (!state->partitions.current) return false;
    uint64 bytes = 0;
    for (int i = 0; i < state->plan.stage_count; i++)
        bytes += state->partitions.current->builds[i].rows->bytes;
    return bytes < kSmallBytes;
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

bool is_partitioned(const GpuJoinState* state) {
    return state->partitions.are_used;
}

int choose_division(const GpuJoinState* state, bool* by_keys, const Status* refusal) {
    int stage = choose_stage(state, nullptr, refusal);
    *by_keys = can_be_divided_by_keys(state, nullptr, stage);
    return stage;
}

void partition_join(GpuJoinState* state, const Status* refusal) {
    if (is_small(state)) {
        if (!wait_for_others(&state->partitions)) report_failure(*refusal);
        return begin_again(state);
    }
    if (is_partitioned(state))
        partition_current(state, refusal);
    else
        partition_whole(state, refusal);
    next_partition(state);
}

void take_shared_partitions(GpuJoinState* state, SharedPartitions* shared) {
    state->partitions.are_used = true;
    state->partitions.shared = shared;
    state->partitions.whole = open_shared_whole(state, shared);
}

bool next_partition(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    if (partitions->current) partition_leave(partitions->current, state->plan.stage_count);
    partitions->current = is_partitioned(state) ? take_next(state) : nullptr;
    partitions->waited_ms = 0;
    if (!partitions->current) return false;
    read_current(state);
    return true;
}

void forget_partitions(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    int stages = state->plan.stage_count;
    forget_attempt(state);
    partitions->waited_ms = 0;
    if (!is_partitioned(state)) return;
    if (partitions->current) partition_leave(partitions->current, stages);
    while (Partition* partition = partitions->waiting) {
        partitions->waiting = partition->next;
        partition_leave(partition, stages);
    }
    if (partitions->whole) partition_leave(partitions->whole, stages);
    for (int i = 0; i < stages; i++) side_read_file(&state->stages[i].build, nullptr);
    side_read_file(&state->probe.side, nullptr);
    partitions->are_used = false;
    partitions->current = partitions->whole = nullptr;
    partitions->shared = nullptr;
}

}  // namespace gpujoin
