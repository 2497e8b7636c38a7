// See partitions.h.
#include "pg/executor/partitions.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/key_hash.h"
#include "pg/report.h"

extern "C" {
#include "executor/executor.h"
#include "storage/latch.h"
}

namespace gpujoin {

struct Partition {
    Partition* next;
    RowFile* build;
    RowFile* probe;
    int depth;               // how often rows were partitioned to get here
    bool keys_are_equal;     // of all build rows, or their hashes are
    uint64 attempted_bytes;  // that the server had taken before it refused more
};

namespace {

constexpr int kHashBits = 5;  // of one partitioning
constexpr int kFanOut = 1 << kHashBits;
constexpr int kMostDepth = 64 / kHashBits;
constexpr int kFewestPieces = 2;

// A join that is refused with less is short of memory because of others, and waits for that.
constexpr uint64 kSmallBytes = uint64{256} << 10;
constexpr int kPatienceMs = 1000;
constexpr int kRetryMs = 10;

// One input on its way into files.
struct Division {
    Side* side;
    RowFile** files;  // one a partition
    int count;
    KeyHasher* hasher;  // nullptr: rows go to files in turn
    int shift;          // of the hash
    Datum* values;
    bool* nulls;
    bool has_hash;  // of a row so far
    uint64 first_hash;
    bool hashes_differ;
};

MemoryContext context_of(const GpuJoinState* state) {
    return state->css.ss.ps.state->es_query_cxt;
}

// No probe row comes out by itself, nor once for all of its matches.
bool can_be_cut(const JoinStage* stage) {
    const JoinRows rows = rows_of(stage->plan->kind);
    return !rows.unmatched_probe_rows && !rows.matched_probe_rows;
}

JoinStage* largest_stage(GpuJoinState* state) {
    JoinStage* largest = nullptr;
    for (int i = 0; i < state->plan.stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        if (!can_hash_keys(state, stage) && !can_be_cut(stage)) continue;
        if (!largest || stage->sent_bytes > largest->sent_bytes) largest = stage;
    }
    return largest;
}

uint64 attempted_bytes(const GpuJoinState* state) {
    uint64 bytes = 0;
    for (int i = 0; i < state->plan.stage_count; i++) bytes += state->stages[i].sent_bytes;
    return bytes;
}

void forget_attempt(GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++) {
        state->stages[i].was_read = false;
        state->stages[i].sent_bytes = 0;
    }
}

// --- Into files

// What is wanted of a row; the rest is NULL.
MinimalTuple form_row(Division* division, TupleTableSlot* slot) {
    const Side* side = division->side;
    TupleDesc desc = ExecGetResultType(side->plan);
    memset(division->nulls, true, desc->natts);
    for (int attribute = -1; (attribute = bms_next_member(side->wanted, attribute)) >= 0;) {
        division->values[attribute - 1] = slot->tts_values[attribute - 1];
        division->nulls[attribute - 1] = slot->tts_isnull[attribute - 1];
    }
    return form_minimal_tuple(desc, division->values, division->nulls);
}

int file_of(Division* division, Partitions* partitions, TupleTableSlot* slot) {
    uint64 hash;
    if (division->count == 1) return 0;
    if (!division->hasher || !hash_keys(division->hasher, slot, &hash))
        return static_cast<int>(partitions->number++ % division->count);
    if (!division->has_hash) division->first_hash = hash;
    division->has_hash = true;
    division->hashes_differ |= hash != division->first_hash;
    return static_cast<int>(hash >> division->shift) & (kFanOut - 1);
}

// Writes the rest of an input.
void divide(GpuJoinState* state, Division* division) {
    MemoryContext context = context_of(state);
    int attributes = ExecGetResultType(division->side->plan)->natts;
    division->values = zeroed_in<Datum>(context, attributes + 1);
    division->nulls = zeroed_in<bool>(context, attributes + 1);
    while (TupleTableSlot* slot = side_next_row(division->side)) {
        CHECK_FOR_INTERRUPTS();
        int number = file_of(division, &state->partitions, slot);
        MinimalTuple tuple = form_row(division, slot);
        row_file_add(division->files[number], context, tuple);
        pfree(tuple);
    }
    pfree(division->values);
    pfree(division->nulls);
}

void write_whole(GpuJoinState* state, Side* side, RowFile** file) {
    *file = row_file_create(context_of(state));
    Division division = {side, file, 1, nullptr, 0, nullptr, nullptr, false, 0, false};
    divide(state, &division);
}

// By the keys, otherwise in turn. True where the keys tell rows apart.
bool write_divided(GpuJoinState* state, Side* side, RowFile** files, int count, int depth, bool by_keys) {
    Division division = {side,    files,   count, nullptr, 64 - kHashBits * (depth + 1),
                         nullptr, nullptr, false, 0,       false};
    KeyHasher hasher;
    if (by_keys) {
        hasher = make_key_hasher(state, state->partitions.stage, side == &state->probe.side);
        division.hasher = &hasher;
    }
    divide(state, &division);
    if (by_keys) free_key_hasher(&hasher);
    return division.hashes_differ;
}

// --- From files

void leave_partition(Partition* partition) {
    row_file_leave(partition->build);
    row_file_leave(partition->probe);
    pfree(partition);
}

void read_file(GpuJoinState* state, Side* side, RowFile* file) {
    if (!side->file_slot) {
        MemoryContext caller = MemoryContextSwitchTo(context_of(state));
        side->file_slot = ExecInitExtraTupleSlot(state->css.ss.ps.state, ExecGetResultType(side->plan),
                                                 &TTSOpsMinimalTuple);
        MemoryContextSwitchTo(caller);
    }
    side_read_file(side, file);
}

// From the start, also after an attempt.
void read_current(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    forget_attempt(state);
    read_file(state, &state->probe.side, partitions->current->probe);
    for (int i = 0; i < state->plan.stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        read_file(state, &stage->build,
                  stage == partitions->stage ? partitions->current->build : partitions->others[i]);
    }
}

// The children again, of which the probe child has not been read further than its first row. Functions with
// side effects must not be called twice.
void reread_build_sides(GpuJoinState* state, const Status* refusal) {
    for (int i = 0; i < state->plan.stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        if (!stage->was_read) continue;
        if (reads_with_effects(stage->build.plan)) report_failure(*refusal);
        side_rescan(&stage->build);
    }
    forget_attempt(state);
}

// --- Partitioning

// Pieces that are likely to find room where so many bytes did.
int count_pieces(const RowFile* build, uint64 attempted) {
    uint64 pieces = 2 * build->bytes / Max(attempted, kSmallBytes) + 1;
    return static_cast<int>(
        Min(Max(pieces, static_cast<uint64>(kFewestPieces)), static_cast<uint64>(kFanOut)));
}

Partition* make_partition(GpuJoinState* state, int depth, bool shares_probe, Partition* first) {
    MemoryContext context = context_of(state);
    auto* partition = zeroed_in<Partition>(context);
    partition->depth = depth;
    partition->build = row_file_create(context);
    partition->probe = shares_probe && first ? first->probe : row_file_create(context);
    if (shares_probe && first) partition->probe->users++;
    return partition;
}

void push(Partitions* partitions, Partition** made, int count) {
    for (int i = count - 1; i >= 0; i--) {
        made[i]->next = partitions->waiting;
        partitions->waiting = made[i];
    }
    partitions->count += count;
}

// Partitions what the inputs read now.
void partition_inputs(GpuJoinState* state, int depth, int count, bool by_keys) {
    Partitions* partitions = &state->partitions;
    Partition* made[kFanOut];
    RowFile* builds[kFanOut];
    RowFile* probes[kFanOut];
    for (int i = 0; i < count; i++) {
        made[i] = make_partition(state, depth, !by_keys, i == 0 ? nullptr : made[0]);
        builds[i] = made[i]->build;
        probes[i] = made[i]->probe;
    }
    bool differ = write_divided(state, &partitions->stage->build, builds, count, depth, by_keys);
    write_divided(state, &state->probe.side, probes, by_keys ? count : 1, depth, by_keys);
    for (int i = 0; i < count; i++) made[i]->keys_are_equal = by_keys && !differ;
    push(partitions, made, count);
}

// Where it can only be cut, the whole is written as one partition first, to know its size.
void partition_whole(GpuJoinState* state, const Status* refusal) {
    Partitions* partitions = &state->partitions;
    JoinStage* stage = largest_stage(state);
    if (!stage) report_failure(*refusal);
    uint64 attempted = attempted_bytes(state);
    reread_build_sides(state, refusal);
    partitions->stage = stage;
    partitions->others = zeroed_in<RowFile*>(context_of(state), state->plan.stage_count);
    for (int i = 0; i < state->plan.stage_count; i++)
        if (&state->stages[i] != stage) write_whole(state, &state->stages[i].build, &partitions->others[i]);
    bool by_keys = can_hash_keys(state, stage);
    partition_inputs(state, 0, by_keys ? kFanOut : 1, by_keys);
    for (Partition* made = partitions->waiting; made; made = made->next) made->attempted_bytes = attempted;
}

void partition_current(GpuJoinState* state, const Status* refusal) {
    Partitions* partitions = &state->partitions;
    Partition* current = partitions->current;
    bool by_keys = can_hash_keys(state, partitions->stage) && !current->keys_are_equal;
    if (current->depth + 1 >= kMostDepth || (!by_keys && !can_be_cut(partitions->stage)))
        report_failure(*refusal);
    uint64 attempted = Max(attempted_bytes(state), current->attempted_bytes);
    read_current(state);
    Partition* behind = partitions->waiting;
    partition_inputs(state, current->depth + 1, by_keys ? kFanOut : count_pieces(current->build, attempted),
                     by_keys);
    for (Partition* made = partitions->waiting; made != behind; made = made->next)
        made->keys_are_equal |= current->keys_are_equal;
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
void begin_again(GpuJoinState* state, const Status* refusal) {
    if (state->partitions.current)
        read_current(state);
    else
        reread_build_sides(state, refusal);
}

}  // namespace

bool is_partitioned(const GpuJoinState* state) {
    return state->partitions.stage != nullptr;
}

void partition_join(GpuJoinState* state, const Status* refusal) {
    Partitions* partitions = &state->partitions;
    bool is_small = partitions->current && partitions->current->build->bytes < kSmallBytes;
    if (is_small || attempted_bytes(state) < kSmallBytes) {
        if (!wait_for_others(partitions)) report_failure(*refusal);
        return begin_again(state, refusal);
    }
    if (is_partitioned(state))
        partition_current(state, refusal);
    else
        partition_whole(state, refusal);
    next_partition(state);
}

bool next_partition(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    if (partitions->current) leave_partition(partitions->current);
    partitions->current = partitions->waiting;
    partitions->waited_ms = 0;
    if (!partitions->current) return false;
    partitions->waiting = partitions->current->next;
    read_current(state);
    return true;
}

void forget_partitions(GpuJoinState* state) {
    Partitions* partitions = &state->partitions;
    forget_attempt(state);
    partitions->waited_ms = 0;
    if (!is_partitioned(state)) return;
    if (partitions->current) leave_partition(partitions->current);
    while (Partition* partition = partitions->waiting) {
        partitions->waiting = partition->next;
        leave_partition(partition);
    }
    for (int i = 0; i < state->plan.stage_count; i++) {
        if (partitions->others[i]) row_file_leave(partitions->others[i]);
        side_read_file(&state->stages[i].build, nullptr);
    }
    side_read_file(&state->probe.side, nullptr);
    pfree(partitions->others);
    partitions->stage = nullptr;
    partitions->current = nullptr;
}

}  // namespace gpujoin
