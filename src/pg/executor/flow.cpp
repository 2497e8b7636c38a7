// The flow of one join: opening it, sending the build side, keeping probe batches in flight, receiving
// results, and the ways it ends. See state.h for the phases.
#include "pg/executor/counting.h"
#include "pg/executor/decide.h"
#include "pg/executor/match_flags.h"
#include "pg/executor/parallel.h"
#include "pg/executor/partitions.h"
#include "pg/report.h"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace gpujoin {

namespace {

void start_pace(GpuJoinState* state) {
    pace_start(&state->probe.pace, state->probe.reads_on_demand, state->plan.is_bounded);
}

void use_client(GpuJoinState* state, Client* client) {
    state->client = client;
    client_keep_refusal(client, true);
    strlcpy(state->device, client_device(client), sizeof(state->device));
    count_opened(state);
    start_pace(state);
}

void count_sent(GpuJoinState* state, const BatchWriter* writer) {
    for (int i = 0; i < writer->column_count; i++) {
        uint32_t width = fixed_width(writer->columns[i].spec.type);
        uint64_t rows = writer->rows;
        state->counts.bytes += width ? width * rows : 4 * rows + writer->buffers[i].data_bytes;
    }
}

// Prepares the next batch of a side. False when there is none, or results must be received first.
bool fill_batch(GpuJoinState* state, Side* side, const BatchGoal* goal) {
    Fill fill = side_fill_batch(side, state->client, goal);
    if (fill == Fill::NoBlock && state->probe.in_flight == 0 && !client_refusal(state->client))
        elog(ERROR, "no block is left for a batch");
    return fill == Fill::Filled;
}

// The batch that is sent next.
ProbeBatch* next_batch(ProbeInput* probe) {
    return &probe->batches[(probe->oldest + probe->in_flight) % kBatchesInFlight];
}

// What is expected to find too little memory is not probed with kept rows by several processes, which take
// memory there, and which could not begin again.
bool is_left_unkept(const GpuJoinState* state, const Side* side) {
    if (is_partitioned(state)) return true;
    if (side != &state->probe.side) return false;
    return state->probe.leaves_kept || (runs_together(state) && state->plan.costs.cost[kSpillTerm] > 0);
}

// Rows of an input may be kept by the server.
bool may_have_kept_rows(const GpuJoinState* state, const Side* side) {
    return side->parts[side->part].kept && !is_left_unkept(state, side);
}

bool is_known_empty(const GpuJoinState* state, Side* side) {
    while (!may_have_kept_rows(state, side)) {
        if (!side_is_empty(side)) return false;
        if (!side_next_part(side)) return true;
    }
    return false;
}

// Has the server probe with one more chunk of kept rows.
KeptProbe send_kept_chunk(GpuJoinState* state) {
    ProbeInput* probe = &state->probe;
    ProbeBatch* batch = next_batch(probe);
    KeptProbe sent = kept_source_probe(part_of(&probe->side)->kept, state->client, probe->in_flight == 0,
                                       &batch->sequence);
    if (sent != KeptProbe::Sent) return sent;
    batch->rows = 0;
    probe->in_flight++;
    pace_sent(&probe->pace);
    return sent;
}

// Sends rows that are read, of which there are some. False when results must be received first.
bool send_read_batch(GpuJoinState* state) {
    ProbeInput* probe = &state->probe;
    ProbeBatch* batch = next_batch(probe);
    Side* side = probing_side(state);
    BatchWriter* writer = &side->writer;
    bool keeps = probe->keeps && side == &probe->side;
    Patience patience = patience_for(&probe->pace);
    BatchGoal goal = {probe->pace.batch_rows, keeps ? batch : nullptr, &patience};
    match_flags_begin_batch(side, batch);
    if (!fill_batch(state, side, &goal)) return false;
    batch_finish(writer);
    batch->rows = writer->rows;
    batch->sequence = client_probe(state->client, &writer->block, writer->rows, writer->buffers);
    probe->in_flight++;
    pace_sent(&probe->pace);
    state->counts.probe_rows += writer->rows;
    count_sent(state, writer);
    update_shown_join(state, RunningPhase::Probing);
    return true;
}

// Sends one more probe batch. False when the probe side has no more rows, or results must be received first.
// Rows of a scan that are read need not go through the engine.
bool send_probe_batch(GpuJoinState* state) {
    ProbeInput* probe = &state->probe;
    Side* side = probing_side(state);
    for (;;) {
        if (may_have_kept_rows(state, side)) {
            KeptProbe sent = send_kept_chunk(state);
            if (sent != KeptProbe::None) return sent == KeptProbe::Sent;
        }
        if (is_scan(state)) return false;
        if (!side_is_empty(side)) return send_read_batch(state);
        if (side_may_keep_next(side) && probe->in_flight > 0) return false;
        if (!side_next_part(side)) return false;
    }
}

void release_view(GpuJoinState* state) {
    if (!state->has_view) return;
    if (state->view.block.bytes > 0) client_release(state->client, &state->view.block);
    state->has_view = false;
}

void forget_decisions(Decider* decider) {
    if (decider->build_matched) pfree(decider->build_matched);
    memset(decider, 0, sizeof(*decider));
}

// The figures of a parallel join are the leader's to collect.
void close_stage(const GpuJoinState* state, JoinStage* stage) {
    if (!runs_together(state)) add_stats(&stage->finished, &stage->current);
    memset(&stage->current, 0, sizeof(stage->current));
    side_reset_kept(&stage->build);
    forget_decisions(&stage->decider);
    batch_writer_reset(&stage->build.writer);
}

// Ends the join in order: nothing more will be emitted.
void finish_join(GpuJoinState* state) {
    release_view(state);
    if (state->css.ss.ps.instrument) snapshot_stats(state);
    if (!state->keep_open || state->parallel.join || is_partitioned(state)) close_join(state);
    const bool goes_on = next_partition(state);
    if (goes_on) go_on_counting(state);
    state->phase = goes_on ? Phase::Initial : Phase::Done;
}

// Probe rows come in order, so that the last one tells for all.
void check_probe_rows(GpuJoinState* state) {
    const ResultView* view = &state->view;
    if (!view->probe_rows || view->rows == 0 || state->probe.carries) return;
    if (view->probe_rows[view->rows - 1] >= oldest_batch(state)->rows)
        elog(ERROR, "gpujoin_server sent a probe row that does not exist");
}

// No probe row can give a row.
bool lacks_build_rows(const GpuJoinState* state) {
    for (int i = first_stage(state); i < end_of_stages(state); i++) {
        const JoinStage* stage = &state->stages[i];
        if (rows_of(stage->kind).needs_a_build_row() && stage->seal.build_rows == 0) return true;
    }
    return false;
}

// One that must have a row has none.
bool is_a_build_side_empty(GpuJoinState* state) {
    for (int i = first_stage(state); i < end_of_stages(state); i++) {
        JoinStage* stage = &state->stages[i];
        if (rows_of(stage->kind).needs_a_build_row() && is_known_empty(state, &stage->build)) return true;
    }
    return false;
}

// Like core: before the build side is read, where that is likely to be dearer.
bool looks_for_probe_row(const GpuJoinState* state) {
    if (state->plan.stage_count == 0) return true;
    const JoinStage* first = &state->stages[first_stage(state)];
    return rows_of(first->kind).needs_a_probe_row() &&
           (is_partitioned(state) ||
            state->probe.side.plan->plan->startup_cost < first->build.plan->plan->total_cost);
}

// Nothing of the open join has been handed out, or what was is left out the next time.
bool may_begin_again(const GpuJoinState* state) {
    const MatchFlags* matches = &state->partitions.matches;
    bool can_repeat = matches->is_silent || matches->leaves_out || state->counts.result_rows == 0;
    bool can_reread = is_partitioned(state) || state->probe.can_be_reread;
    return can_repeat && can_reread && !runs_together(state);
}

// Rows that are kept take memory to probe with at the server, where those that are sent take none. True: they
// are read from now on, if they were not before.
bool leave_kept_rows(GpuJoinState* state) {
    const Side* side = &state->probe.side;
    if (is_left_unkept(state, side)) return false;
    for (int i = 0; i < side->part_count; i++)
        if (side->parts[i].kept) state->probe.leaves_kept = true;
    return state->probe.leaves_kept;
}

// After the server has refused memory for probing: without kept rows, or in partitions, of which the first is
// to be joined next.
void begin_again(GpuJoinState* state) {
    Status refusal = *client_refusal(state->client);
    const bool reads_more = leave_kept_rows(state) || is_scan(state);
    give_up_attempt(state);
    if (!is_partitioned(state)) side_rescan(&state->probe.side);
    if (reads_more)
        reread_join(state);
    else
        partition_join(state, &refusal);
    state->phase = Phase::Initial;
}

uint32_t number_of(const GpuJoinState* state, const JoinStage* stage) {
    return static_cast<uint32_t>(stage - &state->stages[first_stage(state)]);
}

// False, with the reason and nothing open, where there is too little memory. Nothing waits for a stage to be
// sealed while rows of the next one are read.
bool build_join(GpuJoinState* state, Status* refusal) {
    if (!open_join(state, refusal)) return false;
    if (is_partitioned(state)) hold_server(state);
    for (int i = first_stage(state); i < end_of_stages(state) && !client_refusal(state->client); i++) {
        append_build_side(state, &state->stages[i]);
        client_start_seal(state->client, number_of(state, &state->stages[i]));
    }
    update_shown_join(state, RunningPhase::Sealing);
    wait_until_sealed(state);
    if (const Status* kept = client_refusal(state->client)) {
        *refusal = *kept;
        give_up_attempt(state);
        return false;
    }
    if (!is_partitioned(state)) let_server_go(state);
    client_keep_refusal(state->client, may_begin_again(state));
    return true;
}

// Opens and seals a join of this process alone. False when there can be no row. Where an input is empty
// nothing is opened for that: a join in a correlated subplan may find it so thousands of times.
bool enter_join(GpuJoinState* state) {
    for (;;) {
        if (looks_for_probe_row(state) && is_known_empty(state, probing_side(state))) return false;
        bool is_empty = is_a_build_side_empty(state);
        state->build_is_empty = is_empty && !is_partitioned(state);
        if (is_empty) return false;
        Status refusal;
        if (build_join(state, &refusal)) return true;
        partition_join(state, &refusal);
    }
}

constexpr uint64 kTextBytes = 32;  // of a value that nobody has looked at, about

// They do not come here, but take as much memory there.
void append_kept_rows(GpuJoinState* state, JoinStage* stage) {
    uint64 rows = kept_source_build(part_of(&stage->build)->kept, state->client, number_of(state, stage));
    state->counts.build_rows += rows;
    const BatchWriter* writer = &stage->build.writer;
    for (int i = 0; i < writer->column_count; i++) {
        uint32_t width = fixed_width(writer->columns[i].spec.type);
        state->counts.bytes += rows * (width ? width : kTextBytes);
    }
}

// All rows are read here where none are kept, or the server refuses memory for a session.
void enter_scan(GpuJoinState* state) {
    Status refusal;
    state->scanned.set = nullptr;
    state->sealed = may_have_kept_rows(state, &state->probe.side) && build_join(state, &refusal);
    if (state->sealed)
        count_time(state);
    else
        let_server_go(state);
    state->phase = state->sealed ? Phase::Probing : Phase::Scanning;
}

void enter_and_seal(GpuJoinState* state) {
    if (is_scan(state)) return enter_scan(state);
    bool entered = runs_together(state) ? enter_parallel_join(state) : enter_join(state);
    if (!entered) return finish_join(state);
    for (int i = first_stage(state); i < end_of_stages(state); i++)
        state->stages[i].last_seal = state->stages[i].seal;
    count_time(state);
    state->sealed = true;
    if (lacks_build_rows(state)) return finish_join(state);
    state->phase = Phase::Probing;
}

bool take_next_result(GpuJoinState* state) {
    ProbeInput* probe = &state->probe;
    if (state->has_view) {
        bool last = state->view.last;
        release_view(state);
        if (last && state->phase == Phase::Scanning) return false;
        if (last) {
            probe->oldest = (probe->oldest + 1) % kBatchesInFlight;
            probe->in_flight--;
            pace_answered(&probe->pace);
        }
    }
    if (state->phase == Phase::Probing) {
        while (probe->in_flight < batches_allowed(&probe->pace) && send_probe_batch(state)) continue;
        if (probe->in_flight == 0 && !client_refusal(state->client)) return false;
        emitter_bind_batch(&state->emitter, oldest_batch(state));
    }
    state->has_view = client_receive_result(state->client, true, &state->view);
    if (client_refusal(state->client)) {
        begin_again(state);
        return false;
    }
    state->next_row = 0;
    count_result(state);
    update_shown_join(state,
                      state->phase == Phase::Scanning ? RunningPhase::Finishing : RunningPhase::Probing);
    client_keep_refusal(state->client, may_begin_again(state));
    check_probe_rows(state);
    if (state->partitions.lone.runs) return true;
    if (state->plan.groups && state->view.undecided) {
        if (state->view.rows > 0) escaped_rows_bind(&state->escaped, &state->view);
        return true;
    }
    emitter_bind_result(&state->emitter, &state->view);
    group_emitter_bind(&state->groups, &state->view);
    return true;
}

void leave_probing(GpuJoinState* state) {
    if (is_scan(state)) {
        state->scanned.set = nullptr;
        state->phase = Phase::Scanning;
        return;
    }
    if (state->partitions.lone.runs) return finish_join(state);
    if (!state->plan.groups) {
        if (!rows_of(last_stage(state)->kind).scans_build()) return finish_join(state);
        report_matched_build_rows(state);
    }
    if (runs_together(state) && !finish_parallel_probing(state)) return finish_join(state);
    if (state->plan.groups)
        client_flush(state->client);
    else
        client_scan_build(state->client, rows_of(last_stage(state)->kind).build_rows == BuildScan::Matched);
    state->phase = Phase::Scanning;
}

}  // namespace

bool open_join(GpuJoinState* state, Status* refusal) {
    start_counting(state, false);
    FragmentView fragment = fragment_of(state);
    const uint64 lent_memory = state->partitions.takes_reserve ? PG_UINT64_MAX : 0;
    Client* client = client_open(state->css.ss.ps.state->es_query_cxt, &fragment, lent_memory, refusal);
    if (client) {
        use_client(state, client);
        return true;
    }
    if (!is_short_of_memory(*refusal)) report_failure(*refusal);
    return false;
}

bool attach_join(GpuJoinState* state, const SessionKey* key, Status* refusal) {
    start_counting(state, true);
    FragmentView fragment = fragment_of(state);
    Client* client = client_attach(state->css.ss.ps.state->es_query_cxt, key, &fragment, refusal);
    if (client) use_client(state, client);
    return client != nullptr;
}

void append_build_side(GpuJoinState* state, JoinStage* stage) {
    Side* build = &stage->build;
    BatchWriter* writer = &build->writer;
    BatchGoal goal = {kTargetBatchRows, nullptr, nullptr};
    stage->was_read = true;
    uint64 before = state->counts.bytes;
    if (may_have_kept_rows(state, build)) append_kept_rows(state, stage);
    stage->sent_bytes = state->counts.bytes - before;
    do {
        while (fill_batch(state, build, &goal)) {
            batch_finish(writer);
            client_append(state->client, number_of(state, stage), &writer->block, writer->rows,
                          writer->buffers);
            state->counts.build_rows += writer->rows;
            count_sent(state, writer);
            update_shown_join(state, RunningPhase::Building);
            stage->sent_bytes = state->counts.bytes - before;
        }
    } while (!client_refusal(state->client) && side_next_part(build));
}

void seal_stages(GpuJoinState* state) {
    update_shown_join(state, RunningPhase::Sealing);
    for (int i = 0; i < state->plan.stage_count; i++)
        client_start_seal(state->client, number_of(state, &state->stages[i]));
    wait_until_sealed(state);
}

void wait_until_sealed(GpuJoinState* state) {
    for (int i = first_stage(state); i < end_of_stages(state); i++)
        client_wait_sealed(state->client, number_of(state, &state->stages[i]), &state->stages[i].seal);
}

void start_join(GpuJoinState* state) {
    begin_step(state);
    enter_and_seal(state);
    end_step(state);
}

bool next_result(GpuJoinState* state) {
    begin_step(state);
    const bool has_come = take_next_result(state);
    end_step(state);
    return has_come;
}

void finish_probing(GpuJoinState* state) {
    begin_step(state);
    leave_probing(state);
    end_step(state);
}

bool come_complete(GpuJoinState* state) {
    while (!has_result_row(state)) {
        switch (state->phase) {
            case Phase::Initial:
                start_join(state);
                break;
            case Phase::Probing:
                if (!next_result(state) && state->phase == Phase::Probing) finish_probing(state);
                break;
            case Phase::Scanning:
                if (!next_result(state) && state->phase == Phase::Scanning) finish_scanning(state);
                break;
            case Phase::Done:
                return true;
        }
        if (is_partitioned(state) || runs_together(state)) return false;
    }
    return state->phase == Phase::Scanning && state->view.complete;
}

void finish_scanning(GpuJoinState* state) {
    finish_join(state);
}

// Since it was opened and sealed, a join without room on its device has moved, and may have changed its
// algorithm.
void snapshot_stats(GpuJoinState* state) {
    if (!state->client || !state->sealed) return;
    JoinStats stats = {};
    if (state->plan.stage_count == 0) client_stats(state->client, 0, &stats, &state->current_sink);
    for (int i = first_stage(state); i < end_of_stages(state); i++) {
        JoinStage* stage = &state->stages[i];
        client_stats(state->client, number_of(state, stage), &stats, &state->current_sink);
        stage->current = stats;
        stage->seal.algorithm = stats.algorithm;
        stage->last_seal = stage->seal;
    }
    strlcpy(state->device, stats.device, sizeof(state->device));
}

void add_sink_stats(SinkStats* sum, const SinkStats* one) {
    sum->rows += one->rows;
    sum->escaped_rows += one->escaped_rows;
    sum->groups += one->groups;
    sum->left_out += one->left_out;
    sum->skipped_rows += one->skipped_rows;
    sum->ms += one->ms;
    sum->peak_memory = Max(sum->peak_memory, one->peak_memory);
    for (uint32 i = 0; i < kMaxReplicas; i++) {
        sum->replica[i].rows += one->replica[i].rows;
        sum->replica[i].ms += one->replica[i].ms;
    }
}

SinkStats all_of_sink(const GpuJoinState* state) {
    SinkStats sink = state->finished_sink;
    add_sink_stats(&sink, &state->current_sink);
    return sink;
}

void add_stats(JoinStats* sum, const JoinStats* one) {
    sum->build_rows += one->build_rows;
    sum->build_bytes += one->build_bytes;
    sum->build_batches += one->build_batches;
    sum->probe_rows += one->probe_rows;
    sum->probe_bytes += one->probe_bytes;
    sum->probe_batches += one->probe_batches;
    sum->skipped_rows += one->skipped_rows;
    sum->append_ms += one->append_ms;
    sum->seal_ms += one->seal_ms;
    sum->probe_ms += one->probe_ms;
    sum->peak_memory = Max(sum->peak_memory, one->peak_memory);
    sum->peak_seal_memory = Max(sum->peak_seal_memory, one->peak_seal_memory);
    sum->fused |= one->fused;
}

void close_join(GpuJoinState* state) {
    if (!state->client) return count_session(state);
    count_time(state);
    if (state->parallel.join) add_to_worker_figures(state);
    if (runs_together(state))
        leave_parallel_join(state);
    else
        state->waited_ms += client_waited_ms(state->client);
    Client* client = state->client;
    state->client = nullptr;
    client_close(client);
    count_session(state);
    state->sealed = state->has_view = false;
    state->probe.in_flight = 0;
    batch_writer_reset(&state->probe.side.writer);
    side_reset_kept(&state->probe.side);
    for (ProbeBatch& batch : state->probe.batches) probe_batch_free(&batch);
    for (int i = 0; i < state->plan.stage_count; i++) close_stage(state, &state->stages[i]);
    if (!runs_together(state)) add_sink_stats(&state->finished_sink, &state->current_sink);
    state->current_sink = {};
}

void give_up_attempt(GpuJoinState* state) {
    hold_server(state);
    close_join(state);
    go_on_counting(state);
}

void abandon_join(GpuJoinState* state) {
    release_view(state);
    if (state->css.ss.ps.instrument) snapshot_stats(state);
    close_join(state);
    let_server_go(state);
    state->phase = Phase::Done;
}

void rewind_join(GpuJoinState* state) {
    release_view(state);
    begin_step(state);
    client_rewind(state->client);
    end_step(state);
    batch_writer_reset(&state->probe.side.writer);
    state->probe.in_flight = 0;
    start_pace(state);
    for (int i = 0; i < state->plan.stage_count; i++) forget_decisions(&state->stages[i].decider);
    state->phase = lacks_build_rows(state) ? Phase::Done : Phase::Probing;
}

}  // namespace gpujoin
