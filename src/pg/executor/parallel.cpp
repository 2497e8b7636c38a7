// How participants run one join together. Any of them may come late or never, so nothing is addressed to a
// particular process; barriers count whoever has attached.
//
// The barrier `building` goes through the phases of BuildPhase. In Electing one participant is elected; it
// opens a session at the server and publishes its key, for which the others wait in Opening. In Building
// every participant appends its share of each build side, or the whole of one that is read by one participant
// and nobody has taken yet, has it acknowledged, and arrives. In Sealing the one that has opened seals. Who
// attaches in Building still appends a share; who comes later has no build rows to send and only attaches to
// the session. From Sealed on nobody waits for anybody: a participant that has emitted a row may be kept by
// the node that takes its rows (a full tuple queue, which the leader reads only when it gets to it), and
// waiting for it could last for ever.
//
// So unmatched build rows (RIGHT, FULL, and semi and anti joins that keep the build side), and groups, fall
// to whoever is last. A participant attaches to the barrier `probing` before the build side is sealed, or
// when it comes late. It detaches when all its results are received and its reports of matches are
// acknowledged; who detaches last moves the barrier to Finished and emits them. A participant that leaves
// early, because no more rows are wanted of it, says so, and then nobody emits them.
//
// Where the server has refused memory by Sealed, the barrier goes on. All close their clients, and in
// Preparing, while the others wait, one decides how to partition the join and resets what they share of their
// scans. In Dividing each writes its shares of all inputs to files. From Divided on, where who comes late
// joins in, each joins one partition after the other by itself (shared_partitions.h), and nobody waits for
// anybody again.
//
// A participant for whom alone there is no memory, where others have the session, has no part in the join.
// Its shares are read by the others.
//
// Who has opened the session also decides, before it publishes the key, which blocks of each input all pass
// over, since the server has kept their columns (kept_share.h). Who reads an input takes chunks of them
// before it reads its share of the other blocks: of a build side in Building, of the probe input from Sealed
// on. Partitions read all blocks.
//
// The session lives as long as anyone is connected to it. A late participant connects before it attaches to
// `probing`, so that it never holds others up, and may find that session or barrier are finished. Then one
// participant has seen the end of its inputs, which means that all parts of them were given out; or it has
// left early, and no more rows are wanted.
//
// The server, or a participant, that is lost fails the query: the leader, which learns of its workers'
// errors, ends all of them, and every wait here can be interrupted.
#include "pg/executor/parallel.h"

#include "pg/allocate.h"
#include "pg/executor/kept_share.h"
#include "pg/executor/pace.h"
#include "pg/executor/parallel_rescan.h"
#include "pg/executor/partitions.h"
#include "pg/executor/shared_partitions.h"
#include "pg/report.h"
#include "pg/wait_events.h"

extern "C" {
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"
}

namespace gpujoin {

namespace {

enum BuildPhase { kElecting, kOpening, kBuilding, kSealing, kSealed, kPreparing, kDividing, kDivided };
enum ProbePhase { kProbing, kFinished };

}  // namespace

// What participants share of one stage; for EXPLAIN ANALYZE but for the flag.
struct SharedStage {
    pg_atomic_flag is_taken;  // somebody reads the build side, as a whole
    pg_atomic_uint64 sent_bytes;
    Size kept;  // where the KeptShare of the build side is, from the ParallelJoin on; 0: there is none
    SealReport seal;
    JoinStats stats;  // the latest that a participant has asked for
};

struct ParallelJoin {
    Barrier building;
    Barrier probing;
    pg_atomic_flag left_early;
    pg_atomic_flag has_moved;  // and somebody has counted that
    pg_atomic_flag has_ended;  // by an error, or cancelled; the same
    pg_atomic_uint32 leader_takes_part;
    SessionKey key;

    pg_atomic_flag is_refused;
    Status refusal;  // to be read from Sealed on
    SharedPartitions partitions;

    // Figures, for EXPLAIN ANALYZE.
    slock_t mutex;
    char device[sizeof(GpuJoinState::device)];
    double waited_ms;
    SinkStats sink;
    PartitionFigures partitioned;
    int worker_count;
    int stage_count;
    Size kept;                                  // as in a stage, of the probe input
    SharedStage stages[FLEXIBLE_ARRAY_MEMBER];  // then a WorkerFigures for each worker, then the KeptShares
};

namespace {

WorkerFigures* workers_of(ParallelJoin* join) {
    return reinterpret_cast<WorkerFigures*>(&join->stages[join->stage_count]);
}
static_assert(alignof(WorkerFigures) <= alignof(SharedStage));

Size size_without_kept(int stages, int workers) {
    Size size = add_size(offsetof(ParallelJoin, stages), mul_size(sizeof(SharedStage), stages));
    return MAXALIGN(add_size(size, mul_size(sizeof(WorkerFigures), workers)));
}

KeptSource* shared_kept(const Side* side) {
    return side->part_count == 1 ? side->parts->kept : nullptr;
}

// Calls visit with the source of each input that has one, and where its share's place is said.
template <typename Visit>
void for_each_kept(GpuJoinState* state, ParallelJoin* join, const Visit& visit) {
    if (KeptSource* kept = shared_kept(&state->probe.side)) visit(kept, &join->kept);
    for (int i = 0; i < join->stage_count; i++)
        if (KeptSource* kept = shared_kept(&state->stages[i].build)) visit(kept, &join->stages[i].kept);
}

// nullptr: the leader has no such source.
KeptShare* share_at(ParallelJoin* join, Size place) {
    return place == 0 ? nullptr : reinterpret_cast<KeptShare*>(reinterpret_cast<char*>(join) + place);
}

void use_kept(GpuJoinState* state, ParallelJoin* join) {
    for_each_kept(state, join, [join](KeptSource* kept, const Size* place) {
        kept_source_use_share(kept, share_at(join, *place));
    });
}

void use_kept_no_more(GpuJoinState* state, ParallelJoin* join) {
    for_each_kept(state, join, [](KeptSource* kept, const Size*) { kept_source_use_share(kept, nullptr); });
}

// To be called while no participant runs the join.
void reset_protocol(ParallelJoin* join) {
    BarrierInit(&join->building, 0);
    BarrierInit(&join->probing, 0);
    pg_atomic_init_flag(&join->left_early);
    pg_atomic_init_flag(&join->has_moved);
    pg_atomic_init_flag(&join->has_ended);
    pg_atomic_init_u32(&join->leader_takes_part, 0);
    pg_atomic_init_flag(&join->is_refused);
    for (int i = 0; i < join->stage_count; i++) {
        pg_atomic_init_flag(&join->stages[i].is_taken);
        pg_atomic_init_u64(&join->stages[i].sent_bytes, 0);
    }
    reset_shared_partitions(&join->partitions);
    if (KeptShare* kept = share_at(join, join->kept)) kept_share_reset(kept);
    for (int i = 0; i < join->stage_count; i++)
        if (KeptShare* kept = share_at(join, join->stages[i].kept)) kept_share_reset(kept);
}

void reset_figures(ParallelJoin* join) {
    for (int i = 0; i < join->stage_count; i++) join->stages[i].stats = JoinStats{};
    join->sink = SinkStats{};
    join->waited_ms = 0;
    join->partitioned = {};
    for (int i = 0; i < join->worker_count; i++) workers_of(join)[i] = WorkerFigures{};
}

// False when it is too late for that.
bool start_probing(GpuJoinState* state) {
    Barrier* probing = &state->parallel.join->probing;
    state->parallel.is_probing = BarrierAttach(probing) == kProbing;
    if (!state->parallel.is_probing) BarrierDetach(probing);
    return state->parallel.is_probing;
}

bool was_refused(ParallelJoin* join) {
    return !pg_atomic_unlocked_test_flag(&join->is_refused);
}

// All stop building then: the server tells those that are connected.
void publish_refusal(ParallelJoin* join, const Status* refusal) {
    if (pg_atomic_test_set_flag(&join->is_refused)) join->refusal = *refusal;
}

// What the server has refused this participant in the session.
void publish_kept_refusal(GpuJoinState* state) {
    if (!state->client) return;
    if (const Status* kept = client_refusal(state->client)) publish_refusal(state->parallel.join, kept);
}

// Whether this participant reads a build side: a part of it, or the whole if it is the first to ask. Who has
// a copy of the whole goes on with that.
bool reads_build_side(GpuJoinState* state, int stage) {
    const JoinStage* asked = &state->stages[stage];
    return asked->plan->builds_together || (asked->build.copy && asked->was_read) ||
           pg_atomic_test_set_flag(&state->parallel.join->stages[stage].is_taken);
}

void open_together(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    Status refusal;
    state->parallel.has_opened = open_join(state, &refusal);
    if (!state->parallel.has_opened) return publish_refusal(join, &refusal);
    join->key = client_key(state->client);
    for_each_kept(state, join, [state](KeptSource* kept, const Size* place) {
        if (*place > 0) kept_source_decide(kept, state->client);
    });
}

// With the build sides still open, and with them the session. A session that is over has been refused memory,
// or it is somebody's error.
void build_together(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    Status refusal;
    if (was_refused(join)) return;
    if (!state->client && !attach_join(state, &join->key, &refusal)) return;
    start_probing(state);
    for (int i = 0; i < join->stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        if (!reads_build_side(state, i)) continue;
        append_build_side(state, stage);
        pg_atomic_fetch_add_u64(&join->stages[i].sent_bytes, static_cast<int64>(stage->sent_bytes));
    }
    client_wait_acknowledged(state->client);
    publish_kept_refusal(state);
}

void seal_together(GpuJoinState* state) {
    if (!state->parallel.has_opened || was_refused(state->parallel.join)) return;
    seal_stages(state);
    publish_kept_refusal(state);
}

// Too late for a share of the build side; perhaps for all. Also for who was refused memory earlier.
bool enter_late(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    Status refusal;
    if (BarrierPhase(&join->probing) == kFinished) return false;
    if (!attach_join(state, &join->key, &refusal)) {
        if (BarrierPhase(&join->probing) == kFinished || is_short_of_memory(refusal)) return false;
        report_failure(refusal);
    }
    wait_until_sealed(state);
    if (start_probing(state)) return true;
    close_join(state);
    return false;
}

// With the build sides sealed.
bool probe_together(GpuJoinState* state) {
    if (!state->client && !enter_late(state)) return false;
    wait_until_sealed(state);
    if (const Status* kept = client_refusal(state->client)) report_failure(*kept);
    client_keep_refusal(state->client, false);
    forget_copies(state);
    return true;
}

// Of a join that was refused memory. What this process has of the scans is reset before what is shared of
// them.
void leave_attempt(GpuJoinState* state) {
    give_up_attempt(state);
    for (int i = 0; i < state->plan.stage_count; i++)
        if (state->stages[i].was_read) side_reread(&state->stages[i].build);
}

GpuJoinState* state_of(CustomScanState* node) {
    return reinterpret_cast<GpuJoinState*>(node);
}

// That another one's participants have all rescanned.
void reset_join_below(CustomScanState* node) {
    if (ParallelJoin* join = state_of(node)->parallel.join) reset_protocol(join);
}

// While the others wait. What is copied is not read again, and its rest is read by who reads it now.
void prepare_partitions(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    for (int i = 0; i < join->stage_count; i++) {
        const Side* build = &state->stages[i].build;
        state->stages[i].sent_bytes = pg_atomic_read_u64(&join->stages[i].sent_bytes);
        if (build->copy) continue;
        reset_shared_scans(build->plan, reset_join_below);
        pg_atomic_clear_flag(&join->stages[i].is_taken);
    }
    SharedPartitions* partitions = &join->partitions;
    partitions->stage = choose_division(state, &partitions->by_keys);
    partitions->attempted_bytes = attempted_bytes(state);
    partitions->are_used = true;
}

bool arrive(Barrier* barrier) {
    return BarrierArriveAndWait(barrier, wait_event(Wait::Participants));
}

// The way on from Sealed where there is too little memory, until there are partitions.
void partition_together(GpuJoinState* state, int phase) {
    Barrier* building = &state->parallel.join->building;
    switch (phase) {
        case kSealed:
            leave_attempt(state);
            if (arrive(building)) prepare_partitions(state);
            [[fallthrough]];
        case kPreparing:
            arrive(building);
            [[fallthrough]];
        case kDividing:
            divide_share(state, &state->parallel.join->partitions, reads_build_side);
            arrive(building);
            break;
        default:
            attach_shared_files(&state->parallel.join->partitions);
    }
    BarrierDetach(building);
    take_shared_partitions(state, &state->parallel.join->partitions);
}

void add_counts(JoinCounts* sum, const JoinCounts* one) {
    sum->build_rows += one->build_rows;
    sum->probe_rows += one->probe_rows;
    sum->result_rows += one->result_rows;
    sum->bytes += one->bytes;
}

// The server's figures are of all participants; those that were asked for last have seen most.
void publish_stage(const JoinStage* mine, SharedStage* shared) {
    shared->seal = mine->seal;
    if (mine->current.probe_batches >= shared->stats.probe_batches) shared->stats = mine->current;
}

void publish_device(const GpuJoinState* state) {
    memcpy(state->parallel.join->device, state->device, sizeof(state->device));
}

void publish_figures(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    double waited_ms = client_waited_ms(state->client);
    SpinLockAcquire(&join->mutex);
    publish_device(state);
    join->waited_ms += waited_ms;
    for (int i = 0; i < join->stage_count; i++) publish_stage(&state->stages[i], &join->stages[i]);
    if (state->current_sink.rows >= join->sink.rows) join->sink = state->current_sink;
    SpinLockRelease(&join->mutex);
}

// What a worker has summed of the partitions that it has joined by itself.
void publish_sums(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    SpinLockAcquire(&join->mutex);
    if (state->device[0]) publish_device(state);
    join->waited_ms += state->waited_ms;
    add_partitions(&join->partitioned, state->partitions.figures);
    for (int i = 0; i < join->stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        add_stats(&join->stages[i].stats, &stage->finished);
        if (stage->last_seal.algorithm != Algorithm::Auto) join->stages[i].seal = stage->last_seal;
    }
    add_sink_stats(&join->sink, &state->finished_sink);
    SpinLockRelease(&join->mutex);
}

// The leader takes the figures of a run over, before it is forgotten.
void collect_figures(GpuJoinState* state) {
    ParallelPart* part = &state->parallel;
    ParallelJoin* join = part->join;
    if (!part->workers) {
        part->workers =
            zeroed_in<WorkerFigures>(state->css.ss.ps.state->es_query_cxt, join->worker_count + 1);
        part->worker_count = join->worker_count;
    }
    SpinLockAcquire(&join->mutex);
    for (int i = 0; i < join->stage_count; i++) {
        add_stats(&state->stages[i].finished, &join->stages[i].stats);
        if (join->stages[i].seal.algorithm != Algorithm::Auto)
            state->stages[i].last_seal = join->stages[i].seal;
    }
    add_sink_stats(&state->finished_sink, &join->sink);
    state->waited_ms += join->waited_ms;
    add_partitions(&state->partitions.figures, join->partitioned);
    if (join->device[0]) memcpy(state->device, join->device, sizeof(state->device));
    SpinLockRelease(&join->mutex);
    for (int i = 0; i < Min(part->worker_count, join->worker_count); i++) {
        add_counts(&part->workers[i].counts, &workers_of(join)[i].counts);
        part->workers[i].waited_ms += workers_of(join)[i].waited_ms;
    }
}

}  // namespace

bool enter_parallel_join(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    Barrier* building = &join->building;
    state->parallel.has_opened = false;
    int phase = BarrierAttach(building);
    switch (phase) {
        case kElecting:
            if (arrive(building)) open_together(state);
            [[fallthrough]];
        case kOpening:
            arrive(building);
            [[fallthrough]];
        case kBuilding:
            build_together(state);
            arrive(building);
            seal_together(state);
            [[fallthrough]];
        case kSealing:
            arrive(building);
            phase = kSealed;
            break;
        default:
            break;
    }
    if (was_refused(join)) {
        partition_together(state, phase);
        return false;
    }
    BarrierDetach(building);
    return probe_together(state);
}

bool finish_parallel_probing(GpuJoinState* state) {
    ParallelJoin* join = state->parallel.join;
    client_wait_acknowledged(state->client);
    state->parallel.is_probing = false;
    return BarrierArriveAndDetach(&join->probing) && pg_atomic_unlocked_test_flag(&join->left_early);
}

void leave_parallel_join(GpuJoinState* state) {
    ParallelPart* part = &state->parallel;
    publish_figures(state);
    if (!IsParallelWorker()) pg_atomic_write_u32(&part->join->leader_takes_part, 0);
    if (!part->is_probing) return;
    // Joins that scan the build side have finished probing in order when they come here, unless they are
    // early; for others it makes no difference.
    pg_atomic_test_set_flag(&part->join->left_early);
    part->is_probing = false;
    BarrierArriveAndDetach(&part->join->probing);
}

bool claim_move(ParallelJoin* join) {
    return pg_atomic_test_set_flag(&join->has_moved);
}

void note_part(ParallelJoin* join) {
    if (!IsParallelWorker()) pg_atomic_write_u32(&join->leader_takes_part, 1);
}

bool claim_end(ParallelJoin* join) {
    return pg_atomic_read_u32(&join->leader_takes_part) == 0 && pg_atomic_test_set_flag(&join->has_ended);
}

void add_to_worker_figures(GpuJoinState* state) {
    if (!IsParallelWorker()) return;
    WorkerFigures* mine = &workers_of(state->parallel.join)[ParallelWorkerNumber];
    add_counts(&mine->counts, &state->counts);
    mine->waited_ms += client_waited_ms(state->client);
}

Size estimate_parallel_join(CustomScanState* node, ParallelContext* context) {
    GpuJoinState* state = state_of(node);
    Size size = size_without_kept(state->plan.stage_count, context->nworkers);
    if (KeptSource* kept = shared_kept(&state->probe.side))
        size = add_size(size, kept_source_share_size(kept));
    for (int i = 0; i < state->plan.stage_count; i++)
        if (KeptSource* kept = shared_kept(&state->stages[i].build))
            size = add_size(size, kept_source_share_size(kept));
    return size;
}

void init_parallel_join(CustomScanState* node, ParallelContext* context, void* shared) {
    GpuJoinState* state = state_of(node);
    auto* join = static_cast<ParallelJoin*>(shared);
    memset(shared, 0, size_without_kept(state->plan.stage_count, context->nworkers));
    SpinLockInit(&join->mutex);
    join->worker_count = context->nworkers;
    join->stage_count = state->plan.stage_count;
    Size next = size_without_kept(join->stage_count, join->worker_count);
    for_each_kept(state, join, [join, &next](KeptSource* kept, Size* place) {
        *place = next;
        kept_source_init_share(kept, share_at(join, *place), join->worker_count + 1);
        next = add_size(next, kept_source_share_size(kept));
    });
    init_shared_partitions(state, &join->partitions, context->seg, context->nworkers + 1);
    reset_protocol(join);
    state->parallel.join = join;
    use_kept(state, join);
}

// All workers of the last run have ended. The leader's part in it may still be open.
void reinit_parallel_join(CustomScanState* node, ParallelContext*, void* shared) {
    GpuJoinState* state = state_of(node);
    auto* join = static_cast<ParallelJoin*>(shared);
    state->parallel.join = join;
    close_join(state);
    forget_partitions(state);
    collect_figures(state);
    for_each_kept(state, join, [join](KeptSource* kept, const Size* place) {
        kept_source_renew_share(kept, share_at(join, *place));
    });
    reset_protocol(join);
    reset_figures(join);
    use_kept(state, join);
}

void init_parallel_worker(CustomScanState* node, shm_toc*, void* shared) {
    GpuJoinState* state = state_of(node);
    auto* join = static_cast<ParallelJoin*>(shared);
    state->parallel.join = join;
    bool lacks_kept = join->kept > 0 && !shared_kept(&state->probe.side);
    for (int i = 0; i < join->stage_count; i++)
        lacks_kept |= join->stages[i].kept > 0 && !shared_kept(&state->stages[i].build);
    if (lacks_kept) elog(ERROR, "a worker cannot use columns that are kept");
    use_kept(state, join);
}

void shut_parallel_join_down(GpuJoinState* state) {
    close_join(state);
    forget_partitions(state);
    state->phase = Phase::Done;
    if (IsParallelWorker())
        publish_sums(state);
    else
        collect_figures(state);
    use_kept_no_more(state, state->parallel.join);
    state->parallel.join = nullptr;
}

}  // namespace gpujoin
