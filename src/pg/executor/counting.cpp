// See counting.h.
#include "pg/executor/counting.h"

#include "pg/executor/parallel.h"
#include "pg/executor/partitions.h"
#include "pg/query_end.h"

extern "C" {
#include "access/parallel.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
}

namespace gpujoin {

namespace {

uint64 now_us() {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    return static_cast<uint64>(INSTR_TIME_GET_MICROSEC(now));  // signed from 17 on
}

void hide(GpuJoinState* state) {
    hide_running_join(state->shown);
    state->shown = nullptr;
}

// Of a parallel plan the leader has the error, whoever raised it; but it may have no part in the join.
bool tells_of_end(GpuJoinState* state) {
    return !IsParallelWorker() || !state->parallel.join || claim_end(state->parallel.join);
}

// Counts a run that did not come to its end; registered for as long as a query lives. The client is gone.
void count_failure(void* argument) {
    auto* state = static_cast<GpuJoinState*>(argument);
    state->client = nullptr;
    hide(state);
    if (state->counting == Counting::Nothing) return;
    if (tells_of_end(state)) {
        state->counts.failed = has_query_failed();
        state->counts.cancelled = !state->counts.failed;
    }
    count_session(state);
}

// Of a join that several processes have in one session, the first one that hears of it counts the move.
bool is_first_to_hear_of_move(GpuJoinState* state) {
    return !runs_together(state) || claim_move(state->parallel.join);
}

}  // namespace

void start_counting(GpuJoinState* state, bool attaches) {
    if (!state->failure_callback.func) {
        state->failure_callback = {count_failure, state, nullptr};
        MemoryContextRegisterResetCallback(state->css.ss.ps.state->es_query_cxt, &state->failure_callback);
    }
    prepare_counting();
    if (state->parallel.join) note_part(state->parallel.join);
    if (state->counting == Counting::Nothing) {
        state->counting = Counting::Uncounted;
        state->is_counted_elsewhere = attaches;
        state->has_heard_of_move = false;
    }
}

void count_opened(GpuJoinState* state) {
    state->shown = show_running_join(state->device);
    state->counts.is_partition = is_partitioned(state);
}

void update_shown_join(GpuJoinState* state, RunningPhase phase) {
    update_running_join(state->shown, phase, state->counts);
}

void count_session(GpuJoinState* state) {
    hide(state);
    if (state->counting == Counting::Nothing) return;
    count_time(state);
    JoinCounts* counts = &state->counts;
    counts->is_join = state->counting == Counting::Uncounted && !state->is_counted_elsewhere;
    counts->is_chain = state->plan.stage_count > 1;
    counts->has_groups = state->plan.groups;
    count_join(counts);
    state->counting = Counting::Nothing;
    *counts = {};
}

void go_on_counting(GpuJoinState* state) {
    state->counting = Counting::Counted;
}

void begin_step(GpuJoinState* state) {
    state->step_began_us = now_us();
}

void end_step(GpuJoinState* state) {
    count_time(state);
    state->step_began_us = 0;
    if (state->counting == Counting::Nothing) state->counts = {};
}

void count_time(GpuJoinState* state) {
    JoinCounts* counts = &state->counts;
    if (state->client) counts->waited_us = static_cast<uint64>(client_waited_ms(state->client) * 1000);
    if (state->step_began_us == 0) return;
    const uint64 now = now_us();
    (state->sealed ? counts->probe_us : counts->build_us) += now - state->step_began_us;
    state->step_began_us = now;
}

void count_result(GpuJoinState* state) {
    state->counts.result_rows += state->view.rows;
    if (!state->view.moved || state->has_heard_of_move) return;
    state->has_heard_of_move = true;
    state->counts.has_moved = is_first_to_hear_of_move(state);
}

}  // namespace gpujoin
