// The GPU Join node: the callbacks by which PostgreSQL's executor runs it. The node has a loop of its own
// rather than ExecScan()'s, which does not work for scans of no relation under EvalPlanQual; the node needs
// nothing special there, since its children give the rows to be rechecked.
#include "pg/entry_points.h"

#include "pg/allocate.h"
#include "pg/executor/decide.h"
#include "pg/executor/match_flags.h"
#include "pg/executor/parallel.h"
#include "pg/executor/partitions.h"
#include "pg/executor/state.h"

extern "C" {
#include "executor/instrument.h"
#include "executor/nodeCustom.h"
#include "miscadmin.h"
}

namespace gpujoin {

namespace {

GpuJoinState* state_of(CustomScanState* node) {
    return reinterpret_cast<GpuJoinState*>(node);
}

// A group of the result in hand, or a row that is a group of its own. What its values point to lives until
// the next row.
void emit_group(GpuJoinState* state) {
    Emitter* emitter = &state->emitter;
    ExprContext* context = state->css.ss.ps.ps_ExprContext;
    uint32_t row = state->next_row++;
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    emitter_clear(emitter);
    if (state->view.undecided) {
        emit_escaped_row(&state->escaped, row, context);
    } else {
        emit_result(emitter, row);
        emit_states(&state->groups, row, emitter->slot);
    }
    emitter_store(emitter);
    MemoryContextSwitchTo(caller);
}

// The next row of the result in hand, of a join that the server has decided.
void emit_result_row(GpuJoinState* state) {
    Emitter* emitter = &state->emitter;
    uint32_t row = state->next_row++;
    emitter_clear(emitter);
    if (state->view.probe_rows)
        emit_probe(emitter, state->view.probe_rows[row]);
    else
        emit_probe_nulls(emitter);
    emit_result(emitter, row);
    emitter_store(emitter);
}

// The next row of a scan that is read here.
bool next_read_row(GpuJoinState* state) {
    ScannedRows* scanned = &state->scanned;
    if (!scanned->set || scanned->next == scanned->set->rows) {
        scanned->set = side_next_set(&state->probe.side);
        scanned->next = 0;
    }
    if (!scanned->set) return false;
    Emitter* emitter = &state->emitter;
    emitter_clear(emitter);
    emit_set(emitter, scanned->set, scanned->next++, scanned->attributes);
    emitter_store(emitter);
    return true;
}

bool next_server_row(GpuJoinState* state) {
    while (!has_result_row(state))
        if (!next_result(state)) return false;
    if (state->plan.groups)
        emit_group(state);
    else
        emit_result_row(state);
    return true;
}

bool next_joined_row(GpuJoinState* state) {
    return client_decides(state) ? next_decided_row(state) : next_server_row(state);
}

// Where the rows of the partition only tell of matches.
void find_matches(GpuJoinState* state) {
    if (client_decides(state))
        while (next_decided_row(state)) flag_match(state, only_stage(state)->decider.probe_row);
    else
        while (next_result(state)) flag_matches(state);
}

uint32_t probe_row_of(const GpuJoinState* state) {
    return client_decides(state) ? only_stage(state)->decider.probe_row
                                 : state->view.probe_rows[state->next_row - 1];
}

// Puts the next row of probing into the emitter's slot. False at the end.
bool next_probing_row(GpuJoinState* state) {
    const MatchFlags* matches = &state->partitions.matches;
    if (likely(!matches->flags)) return next_joined_row(state);
    if (matches->is_silent) {
        find_matches(state);
        return false;
    }
    if (!next_joined_row(state)) return false;
    flag_match(state, probe_row_of(state));
    return true;
}

// Puts the next row of the join into the emitter's slot. False at the end.
bool next_row(GpuJoinState* state) {
    if (likely(has_result_row(state) && !client_decides(state) && !state->plan.groups &&
               !state->partitions.matches.flags)) {
        emit_result_row(state);
        return true;
    }
    for (;;) {
        switch (state->phase) {
            case Phase::Initial:
                start_join(state);
                break;
            case Phase::Probing:
                if (next_probing_row(state)) return true;
                if (state->phase == Phase::Probing) finish_probing(state);
                break;
            case Phase::Scanning:
                if (is_scan(state) ? next_read_row(state) : next_server_row(state)) return true;
                if (state->phase == Phase::Scanning) finish_scanning(state);
                break;
            case Phase::Done:
                return false;
        }
    }
}

// A plain join's residual, or conditions that an engine may not decide.
bool tests_pairs(const GpuJoinState* state) {
    return state->plan.stage_count > 0 && state->stages->test_count > 0;
}

// What is above the join makes of the row in the scan slot; nullptr when a condition is not met.
TupleTableSlot* filter_and_project(GpuJoinState* state) {
    PlanState* ps = &state->css.ss.ps;
    ExprContext* context = ps->ps_ExprContext;
    context->ecxt_scantuple = state->emitter.slot;
    if (!client_decides(state) && tests_pairs(state) && !candidate_holds(state)) return nullptr;
    if (ps->qual && !ExecQual(ps->qual, context)) {
        InstrCountFiltered1(ps, 1);
        return nullptr;
    }
    return ps->ps_ProjInfo ? ExecProject(ps->ps_ProjInfo) : state->emitter.slot;
}

TupleTableSlot* next_output(CustomScanState* node) {
    GpuJoinState* state = state_of(node);
    if (state->direct) return next_row(state) ? state->emitter.slot : ExecClearTuple(state->emitter.slot);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(node->ss.ps.ps_ExprContext);
        if (!next_row(state)) return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
        TupleTableSlot* slot = filter_and_project(state);
        if (slot) return slot;
    }
}

TupleTableSlot* exec_node(CustomScanState* node) {
    return next_among_top(state_of(node)->top, [node] { return next_output(node); });
}

void end_node(CustomScanState* node) {
    GpuJoinState* state = state_of(node);
    close_join(state);
    forget_partitions(state);
    forget_copies(state);
    side_end(&state->probe.side);
    for (int i = 0; i < state->plan.stage_count; i++) side_end(&state->stages[i].build);
    ListCell* cell;
    foreach (cell, node->custom_ps) ExecEndNode(static_cast<PlanState*>(lfirst(cell)));
}

// Whether a build side is as it was read, as far as Params tell.
bool is_unchanged(const JoinStage* stage, const Bitmapset* changed) {
    return !stage->build.plan->chgParam && !(changed && stage->build_uses_params);
}

// Build sides are used again when they were read to their end and nothing that they depend on has changed;
// one that had no row still has none. A scan has none: it begins anew, and so can begin again if memory is
// refused.
void rescan_node(CustomScanState* node) {
    GpuJoinState* state = state_of(node);
    Bitmapset* changed = node->ss.ps.chgParam;
    ListCell* cell;
    if (changed)
        foreach (cell, node->custom_ps) UpdateChangedParamSet(static_cast<PlanState*>(lfirst(cell)), changed);
    bool same = true;
    for (int i = 0; i < state->plan.stage_count; i++) same &= is_unchanged(&state->stages[i], changed);
    ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
    ExecClearTuple(node->ss.ss_ScanTupleSlot);
    if (same && state->build_is_empty) {
        state->phase = Phase::Done;
    } else if (same && state->client && state->sealed && !is_partitioned(state) && !is_scan(state)) {
        rewind_join(state);
    } else {
        close_join(state);
        forget_partitions(state);
        state->build_is_empty = false;
        state->phase = Phase::Initial;
        for (int i = 0; i < state->plan.stage_count; i++) side_rescan(&state->stages[i].build);
    }
    side_rescan(&state->probe.side);
    reset_top_rows(state->top);
}

// Called at the end of a run, and also between fetches from a cursor: the join may go on, unless it is
// parallel.
void shutdown_node(CustomScanState* node) {
    GpuJoinState* state = state_of(node);
    if (node->ss.ps.instrument) snapshot_stats(state);
    if (state->parallel.join) shut_parallel_join_down(state);
}

constexpr CustomExecMethods methods_named(const char* name) {
    return {
        .CustomName = name,
        .BeginCustomScan = begin_node,
        .ExecCustomScan = exec_node,
        .EndCustomScan = end_node,
        .ReScanCustomScan = rescan_node,
        .MarkPosCustomScan = nullptr,
        .RestrPosCustomScan = nullptr,
        .EstimateDSMCustomScan = estimate_parallel_join,
        .InitializeDSMCustomScan = init_parallel_join,
        .ReInitializeDSMCustomScan = reinit_parallel_join,
        .InitializeWorkerCustomScan = init_parallel_worker,
        .ShutdownCustomScan = shutdown_node,
        .ExplainCustomScan = explain_node,
    };
}

const CustomExecMethods join_methods = methods_named(kNodeName);
const CustomExecMethods aggregate_methods = methods_named(kGroupNodeName);
const CustomExecMethods kept_methods = methods_named(kScanNodeName);

const CustomExecMethods* exec_methods_of(const CustomScan* plan) {
    if (plan->methods == &group_methods) return &aggregate_methods;
    return plan->methods == &kept_scan_methods ? &kept_methods : &join_methods;
}

Node* create_state(CustomScan* plan) {
    auto* state = zeroed<GpuJoinState>();
    NodeSetTag(state, T_CustomScanState);
    state->css.methods = exec_methods_of(plan);
    plan_data_from_list(plan->custom_private, &state->plan);
    state->stages = zeroed<JoinStage>(state->plan.stage_count);
    for (int i = 0; i < state->plan.stage_count; i++) {
        state->stages[i].plan = &state->plan.stages[i];
        state->stages[i].kind = state->stages[i].plan->kind;
        state->stages[i].exprs = list_nth_node(List, plan->custom_exprs, i);
    }
    if (state->plan.groups) state->group_exprs = llast_node(List, plan->custom_exprs);
    return reinterpret_cast<Node*>(state);
}

}  // namespace

const CustomScanMethods scan_methods = {
    .CustomName = kNodeName,
    .CreateCustomScanState = create_state,
};
const CustomScanMethods kept_scan_methods = {
    .CustomName = kScanNodeName,
    .CreateCustomScanState = create_state,
};
const CustomScanMethods group_methods = {
    .CustomName = kGroupNodeName,
    .CreateCustomScanState = create_state,
};

}  // namespace gpujoin
