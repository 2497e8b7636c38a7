// See decide.h.
#include "pg/executor/decide.h"

#include "pg/allocate.h"

extern "C" {
#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace gpujoin {

namespace {

constexpr uint64_t kReportRows = 64 << 10;

void mark_build_row(GpuJoinState* state, uint64_t row) {
    JoinStage* stage = only_stage(state);
    Decider* decider = &stage->decider;
    if (!decider->build_matched) {
        decider->build_rows = stage->seal.build_rows;
        Size bytes = validity_bytes(decider->build_rows);
        decider->build_matched = allocate<uint8>(state->css.ss.ps.state->es_query_cxt, bytes, 0,
                                                 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
    }
    if (row >= decider->build_rows) elog(ERROR, "gpujoin_server sent a build row that does not exist");
    decider->build_matched[row >> 3] |= static_cast<uint8>(1u << (row & 7));
}

void emit_pair(GpuJoinState* state, uint32_t probe_row, uint32_t result_row) {
    emitter_clear(&state->emitter);
    emit_probe(&state->emitter, probe_row);
    emit_result(&state->emitter, result_row);
    emitter_store(&state->emitter);
}

void emit_unmatched(GpuJoinState* state, uint32_t probe_row) {
    emitter_clear(&state->emitter);
    emit_probe(&state->emitter, probe_row);
    emit_result_nulls(&state->emitter);
    emitter_store(&state->emitter);
}

// Tests the view's next candidate, a pair of the undecided probe row. True when it gives a row now.
bool take_candidate(GpuJoinState* state) {
    JoinStage* stage = only_stage(state);
    Decider* decider = &stage->decider;
    JoinRows gives = rows_of(stage->kind);
    uint32_t result_row = state->next_row++;
    if (decider->matched && gives.is_decided_by_first_match()) return false;
    emit_pair(state, decider->probe_row, result_row);
    ResetExprContext(state->css.ss.ps.ps_ExprContext);
    if (!candidate_holds(state)) return false;
    decider->matched = true;
    if (gives.scans_build()) mark_build_row(state, state->view.build_rows[result_row]);
    return gives.pairs || gives.matched_probe_rows;
}

// Leaves the undecided probe row behind: all its candidates were seen. True when it gives a row now.
bool leave_probe_row(GpuJoinState* state) {
    JoinStage* stage = only_stage(state);
    Decider* decider = &stage->decider;
    uint32_t row = decider->probe_row++;
    bool unmatched = !decider->matched;
    decider->matched = false;
    if (!unmatched || !rows_of(stage->kind).unmatched_probe_rows) return false;
    emit_unmatched(state, row);
    return true;
}

// The view is used up and its batch goes on: where the probe row is decided, the server need not send more of
// it.
void skip_rest_of_group(GpuJoinState* state) {
    const JoinStage* stage = only_stage(state);
    if (stage->decider.matched && rows_of(stage->kind).is_decided_by_first_match())
        client_skip(state->client, stage->decider.probe_row);
}

}  // namespace

bool candidate_holds(GpuJoinState* state) {
    ExprContext* context = state->css.ss.ps.ps_ExprContext;
    context->ecxt_scantuple = state->emitter.slot;
    const JoinStage* stage = only_stage(state);
    for (int i = 0; i < stage->test_count; i++) {
        const PairTest* test = &stage->tests[i];
        if ((test->only_undecided && !state->view.undecided) || ExecQual(test->clauses, context)) continue;
        InstrCountFiltered2(&state->css.ss.ps, 1);
        return false;
    }
    return true;
}

bool next_decided_row(GpuJoinState* state) {
    Decider* decider = &only_stage(state)->decider;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (state->has_view && state->next_row < state->view.rows) {
            uint32_t candidate = state->view.probe_rows[state->next_row];
            if (candidate < decider->probe_row) elog(ERROR, "gpujoin_server sent candidates out of order");
            if (candidate > decider->probe_row ? leave_probe_row(state) : take_candidate(state)) return true;
            continue;
        }
        if (state->has_view && state->view.last && decider->probe_row < oldest_batch(state)->rows) {
            if (leave_probe_row(state)) return true;
            continue;
        }
        if (state->has_view && state->view.last) decider->probe_row = 0;
        if (state->has_view && !state->view.last) skip_rest_of_group(state);
        if (!next_result(state)) return false;
    }
}

void report_matched_build_rows(GpuJoinState* state) {
    Decider* decider = &only_stage(state)->decider;
    if (!decider->build_matched) return;
    auto* rows = unset<uint64_t>(kReportRows);
    uint64_t count = 0;
    for (uint64_t row = 0; row < decider->build_rows; row++) {
        if (!(decider->build_matched[row >> 3] >> (row & 7) & 1)) continue;
        rows[count++] = row;
        if (count == kReportRows) {
            client_mark_matched(state->client, rows, count);
            count = 0;
        }
    }
    if (count > 0) client_mark_matched(state->client, rows, count);
    pfree(rows);
    pfree(decider->build_matched);
    decider->build_matched = nullptr;
}

}  // namespace gpujoin
