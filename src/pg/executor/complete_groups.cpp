// The GPU Finalize Aggregate node: what core's Finalize Aggregate makes of partial groups, without it where
// each group comes once. Below it there is that very node, and below that one the GPU Aggregate. When this
// one is asked for its first row, it runs the GPU Aggregate up to its first group, or rows that come back to
// be aggregated by PostgreSQL. If the server says then that the groups are complete, it takes them itself;
// otherwise core's node does, from the first one on. So it does in any case where there are grouping sets.
#include "pg/entry_points.h"

#include "pg/allocate.h"
#include "pg/executor/group_finals.h"
#include "pg/executor/state.h"

extern "C" {
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
}

namespace gpujoin {

namespace {

enum class Source : uint8_t {
    Unknown,   // nothing has run
    Complete,  // groups of the GPU Aggregate
    Combined,  // those that core makes of its groups
};

struct CompleteGroupsState {
    CustomScanState css;   // first
    bool only_combines;    // there are grouping sets: of what follows only core's node is used
    PlanState* combining;  // core's node
    GpuJoinState* groups;
    GroupFinals* finals;
    Source source;
};

CompleteGroupsState* state_of(CustomScanState* node) {
    return reinterpret_cast<CompleteGroupsState*>(node);
}

void begin_node(CustomScanState* node, EState* estate, int eflags) {
    auto* state = state_of(node);
    auto* plan = castNode(CustomScan, node->ss.ps.plan);
    state->combining = ExecInitNode(linitial_node(Plan, plan->custom_plans), estate,
                                    eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
    node->custom_ps = list_make1(state->combining);
    if (state->only_combines) return;
    auto* below = castNode(CustomScanState, outerPlanState(state->combining));
    if (reinterpret_cast<const CustomScan*>(below->ss.ps.plan)->methods != &group_methods)
        elog(ERROR, "there is no %s below a %s", kGroupNodeName, kCompleteGroupsNodeName);
    state->groups = reinterpret_cast<GpuJoinState*>(below);
    if (eflags & EXEC_FLAG_EXPLAIN_ONLY) return;
    state->finals = make_group_finals(state->groups->plan.groups, &state->groups->groups);
}

// Calls the function as ExecProcNode() does the node: rows are those that it has brought.
template <typename Function>
bool instrumented(GpuJoinState* groups, const Function& function) {
    Instrumentation* instrument = groups->css.ss.ps.instrument;
    if (!instrument) return function();
    InstrStartNode(instrument);
    bool found = function();
    InstrStopNode(instrument, found && has_result_row(groups) ? groups->view.rows : 0);
    return found;
}

Source choose_source(CompleteGroupsState* state) {
    GpuJoinState* groups = state->groups;
    if (groups->css.ss.ps.chgParam) ExecReScan(&groups->css.ss.ps);
    return instrumented(groups, [groups] { return come_complete(groups); }) ? Source::Complete
                                                                            : Source::Combined;
}

// A group that is not looked at any more when the next one is wanted.
TupleTableSlot* next_complete_group(CompleteGroupsState* state) {
    GpuJoinState* groups = state->groups;
    TupleTableSlot* slot = state->css.ss.ss_ScanTupleSlot;
    ExecClearTuple(slot);
    while (!has_result_row(groups)) {
        if (groups->phase == Phase::Done) return nullptr;
        if (!instrumented(groups, [groups] { return next_result(groups); })) finish_scanning(groups);
    }
    const uint32_t row = groups->next_row++;
    MemoryContext caller = MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    emitter_clear(&groups->emitter);
    emit_result(&groups->emitter, row);
    emit_finals(state->finals, row, groups->emitter.slot, slot);
    MemoryContextSwitchTo(caller);
    return ExecStoreVirtualTuple(slot);
}

TupleTableSlot* next_group(CompleteGroupsState* state) {
    if (state->source == Source::Unknown) state->source = choose_source(state);
    if (state->source == Source::Complete) return next_complete_group(state);
    TupleTableSlot* slot = ExecProcNode(state->combining);
    return TupIsNull(slot) ? nullptr : slot;
}

// HAVING is tested here.
TupleTableSlot* exec_node(CustomScanState* node) {
    PlanState* ps = &node->ss.ps;
    ExprContext* context = ps->ps_ExprContext;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(context);
        context->ecxt_scantuple = next_group(state_of(node));
        if (!context->ecxt_scantuple) return ExecClearTuple(ps->ps_ResultTupleSlot);
        if (ps->qual && !ExecQual(ps->qual, context)) {
            InstrCountFiltered1(ps, 1);
            continue;
        }
        return ps->ps_ProjInfo ? ExecProject(ps->ps_ProjInfo) : context->ecxt_scantuple;
    }
}

void end_node(CustomScanState* node) {
    ExecEndNode(state_of(node)->combining);
}

// Core's node has its groups still, and gives them again if nothing has changed. Otherwise it does not rescan
// what is below it before it has run.
void rescan_node(CustomScanState* node) {
    auto* state = state_of(node);
    PlanState* combining = state->combining;
    if (node->ss.ps.chgParam) UpdateChangedParamSet(combining, node->ss.ps.chgParam);
    const bool is_changed = combining->chgParam;
    const bool was_combined = state->source == Source::Combined;
    if (state->only_combines && !is_changed) return ExecReScan(combining);
    if (state->only_combines) return;  // it is when it is asked for rows
    if (was_combined || is_changed) ExecReScan(combining);
    if (was_combined && !is_changed) return;
    PlanState* groups = &state->groups->css.ss.ps;
    if (state->source == Source::Complete && !groups->chgParam) ExecReScan(groups);
    state->source = Source::Unknown;
}

void explain_node(CustomScanState* node, List*, ExplainState* es) {
    const Source source = state_of(node)->source;
    if (!es->analyze || source == Source::Unknown || state_of(node)->only_combines) return;
    ExplainPropertyText("Groups", source == Source::Complete ? "complete" : "combined", es);
}

constexpr CustomExecMethods exec_methods = {
    .CustomName = kCompleteGroupsNodeName,
    .BeginCustomScan = begin_node,
    .ExecCustomScan = exec_node,
    .EndCustomScan = end_node,
    .ReScanCustomScan = rescan_node,
    .MarkPosCustomScan = nullptr,
    .RestrPosCustomScan = nullptr,
    .EstimateDSMCustomScan = nullptr,
    .InitializeDSMCustomScan = nullptr,
    .ReInitializeDSMCustomScan = nullptr,
    .InitializeWorkerCustomScan = nullptr,
    .ShutdownCustomScan = nullptr,
    .ExplainCustomScan = explain_node,
};

Node* create_state(CustomScan* plan) {
    auto* state = zeroed<CompleteGroupsState>();
    NodeSetTag(state, T_CustomScanState);
    state->css.methods = &exec_methods;
    state->only_combines = plan->custom_private != NIL;
    if (state->only_combines) state->source = Source::Combined;
    return reinterpret_cast<Node*>(state);
}

}  // namespace

const CustomScanMethods complete_groups_methods = {
    .CustomName = kCompleteGroupsNodeName,
    .CreateCustomScanState = create_state,
};

}  // namespace gpujoin
