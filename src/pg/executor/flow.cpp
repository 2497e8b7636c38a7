// The flow of one join: opening it, sending the build side, keeping probe batches in flight, receiving
// results, and the ways it ends. See state.h for the phases.
#include "pg/executor/decide.h"
#include "pg/executor/parallel.h"
#include "pg/executor/state.h"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace gpujoin {

namespace {

// Counts a join that an error ended; registered for as long as a query lives.
void count_failure(void* argument) {
    auto* state = static_cast<GpuJoinState*>(argument);
    if (!state->client) return;
    state->client = nullptr;
    state->counts.failed = true;
    count_join(&state->counts);
}

void start_counting(GpuJoinState* state) {
    if (!state->failure_callback.func) {
        state->failure_callback = {count_failure, state, nullptr};
        MemoryContextRegisterResetCallback(state->css.ss.ps.state->es_query_cxt, &state->failure_callback);
    }
    memset(&state->counts, 0, sizeof(state->counts));
}

void use_client(GpuJoinState* state, Client* client) {
    state->client = client;
    strlcpy(state->device, client_device(client), sizeof(state->device));
    pace_start(&state->pace, state->reads_on_demand, state->plan.is_bounded);
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
    if (fill == Fill::NoBlock && state->in_flight == 0) elog(ERROR, "no block is left for a batch");
    return fill == Fill::Filled;
}

// Sends one more probe batch. False when the probe side has no more rows, or results must be received first.
bool send_probe_batch(GpuJoinState* state) {
    ProbeBatch* batch = &state->batches[(state->oldest + state->in_flight) % kBatchesInFlight];
    BatchWriter* writer = &state->probe.writer;
    Patience patience = patience_for(&state->pace);
    BatchGoal goal = {state->pace.batch_rows, batch, &patience};
    if (!fill_batch(state, &state->probe, &goal)) return false;
    batch_finish(writer);
    batch->rows = writer->rows;
    batch->sequence = client_probe(state->client, &writer->block, writer->rows, writer->buffers);
    state->in_flight++;
    pace_sent(&state->pace);
    state->counts.probe_rows += writer->rows;
    count_sent(state, writer);
    return true;
}

void release_view(GpuJoinState* state) {
    if (!state->has_view) return;
    if (state->view.block.bytes > 0) client_release(state->client, &state->view.block);
    state->has_view = false;
}

// Ends the join in order: nothing more will be emitted.
void finish_join(GpuJoinState* state) {
    release_view(state);
    if (state->css.ss.ps.instrument) snapshot_stats(state);
    if (!state->keep_open || state->parallel.join) close_join(state);
    state->phase = Phase::Done;
}

// Probe rows come in order, so that the last one tells for all.
void check_probe_rows(GpuJoinState* state) {
    const ResultView* view = &state->view;
    if (!view->probe_rows || view->rows == 0) return;
    if (view->probe_rows[view->rows - 1] >= oldest_batch(state)->rows)
        elog(ERROR, "gpujoin_server sent a probe row that does not exist");
}

// Opens and seals a join of this process alone. False when there can be no row. Where an input is empty
// nothing is opened for that: a join in a correlated subplan may find it so thousands of times.
bool enter_join(GpuJoinState* state) {
    // Like core: look for a probe row first where that is likely to be cheaper than reading the build side.
    bool look_first = state->probe.plan->plan->startup_cost < state->build.plan->plan->total_cost;
    if (rows_of(state->plan.kind).needs_a_probe_row() && look_first && side_is_empty(&state->probe))
        return false;
    state->build_is_empty = rows_of(state->plan.kind).needs_a_build_row() && side_is_empty(&state->build);
    if (state->build_is_empty) return false;
    open_join(state);
    append_build_side(state);
    client_seal(state->client, &state->seal);
    return true;
}

}  // namespace

void open_join(GpuJoinState* state) {
    start_counting(state);
    use_client(state, client_open(state->css.ss.ps.state->es_query_cxt, state->spec));
}

bool attach_join(GpuJoinState* state, const SessionKey* key, Status* refusal) {
    start_counting(state);
    state->counts.attached = true;
    Client* client = client_attach(state->css.ss.ps.state->es_query_cxt, key, state->spec, refusal);
    if (client) use_client(state, client);
    return client != nullptr;
}

void append_build_side(GpuJoinState* state) {
    BatchWriter* writer = &state->build.writer;
    BatchGoal goal = {kTargetBatchRows, nullptr, nullptr};
    while (fill_batch(state, &state->build, &goal)) {
        batch_finish(writer);
        client_append(state->client, &writer->block, writer->rows, writer->buffers);
        state->counts.build_rows += writer->rows;
        count_sent(state, writer);
    }
}

void start_join(GpuJoinState* state) {
    bool entered = state->parallel.join ? enter_parallel_join(state) : enter_join(state);
    if (!entered) return finish_join(state);
    state->last_seal = state->seal;
    state->sealed = true;
    if (rows_of(state->plan.kind).needs_a_build_row() && state->seal.build_rows == 0)
        return finish_join(state);
    state->phase = Phase::Probing;
}

bool next_result(GpuJoinState* state) {
    if (state->has_view) {
        bool last = state->view.last;
        release_view(state);
        if (last && state->phase == Phase::Scanning) return false;
        if (last) {
            state->oldest = (state->oldest + 1) % kBatchesInFlight;
            state->in_flight--;
            pace_answered(&state->pace);
        }
    }
    if (state->phase == Phase::Probing) {
        while (state->in_flight < batches_allowed(&state->pace) && send_probe_batch(state)) continue;
        if (state->in_flight == 0) return false;
        emitter_bind_batch(&state->emitter, oldest_batch(state));
    }
    client_receive_result(state->client, true, &state->view);
    state->has_view = true;
    state->next_row = 0;
    state->counts.result_rows += state->view.rows;
    check_probe_rows(state);
    emitter_bind_result(&state->emitter, &state->view);
    return true;
}

void finish_probing(GpuJoinState* state) {
    JoinRows gives = rows_of(state->plan.kind);
    if (!gives.scans_build()) return finish_join(state);
    report_matched_build_rows(state);
    if (state->parallel.join && !finish_parallel_probing(state)) return finish_join(state);
    client_scan_build(state->client, gives.build_rows == BuildScan::Matched);
    state->phase = Phase::Scanning;
}

void finish_scanning(GpuJoinState* state) {
    finish_join(state);
}

// Since it was opened and sealed, a join without room on its device has moved, and may have changed its
// algorithm.
void snapshot_stats(GpuJoinState* state) {
    if (!state->client || !state->sealed) return;
    client_stats(state->client, &state->current);
    state->seal.algorithm = state->current.algorithm;
    state->last_seal = state->seal;
    strlcpy(state->device, state->current.device, sizeof(state->device));
}

void add_stats(JoinStats* sum, const JoinStats* one) {
    sum->build_rows += one->build_rows;
    sum->build_bytes += one->build_bytes;
    sum->build_batches += one->build_batches;
    sum->probe_rows += one->probe_rows;
    sum->probe_bytes += one->probe_bytes;
    sum->probe_batches += one->probe_batches;
    sum->append_ms += one->append_ms;
    sum->seal_ms += one->seal_ms;
    sum->probe_ms += one->probe_ms;
    sum->peak_memory = Max(sum->peak_memory, one->peak_memory);
    sum->peak_seal_memory = Max(sum->peak_seal_memory, one->peak_seal_memory);
}

void close_join(GpuJoinState* state) {
    if (!state->client) return;
    if (state->parallel.join) {
        leave_parallel_join(state);
    } else {
        add_stats(&state->finished, &state->current);
        state->waited_ms += client_waited_ms(state->client);
    }
    memset(&state->current, 0, sizeof(state->current));
    Client* client = state->client;
    state->client = nullptr;
    client_close(client);
    count_join(&state->counts);
    state->sealed = state->has_view = false;
    state->in_flight = 0;
    if (state->decider.build_matched) pfree(state->decider.build_matched);
    memset(&state->decider, 0, sizeof(state->decider));
    batch_writer_reset(&state->probe.writer);
    batch_writer_reset(&state->build.writer);
    for (ProbeBatch& batch : state->batches) probe_batch_free(&batch);
}

void rewind_join(GpuJoinState* state) {
    release_view(state);
    client_rewind(state->client);
    batch_writer_reset(&state->probe.writer);
    state->in_flight = 0;
    pace_start(&state->pace, state->reads_on_demand, state->plan.is_bounded);
    if (state->decider.build_matched) pfree(state->decider.build_matched);
    memset(&state->decider, 0, sizeof(state->decider));
    bool nothing = rows_of(state->plan.kind).needs_a_build_row() && state->seal.build_rows == 0;
    state->phase = nothing ? Phase::Done : Phase::Probing;
}

}  // namespace gpujoin
