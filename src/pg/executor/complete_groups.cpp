// The GPU Finalize Aggregate node: what core's Finalize Aggregate makes of partial groups, without it where
// each group comes once. Below it there is that very node, and below that one the GPU Aggregate. When this
// one is asked for its first row, it runs the GPU Aggregate up to its first group, or rows that come back to
// be aggregated by PostgreSQL. If the server says then that the groups are complete, it takes them itself;
// otherwise core's node does, from the first one on. So it does in any case where there are grouping sets.
//
// Where distinct values are counted, core's node combines nothing but complete groups. There is a second plan
// below then, core's own for the query, which is run from the start if they are not.
#include "pg/entry_points.h"

#include "pg/allocate.h"
#include "pg/executor/group_finals.h"
#include "pg/executor/spec.h"
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
    Other,     // the second plan's
};

struct CompleteGroupsState {
    CustomScanState css;  // first
    AboveGroups does;
    PlanState* combining;  // core's node
    PlanState* other;      // the second plan; nullptr: there is none
    GpuJoinState* groups;
    GroupFinals* finals;
    TopRowsPlan top_plan;
    TopRows* top;  // nullptr: all rows are wanted
    Source source;
};

CompleteGroupsState* state_of(CustomScanState* node) {
    return reinterpret_cast<CompleteGroupsState*>(node);
}

// Of groups that all go on, and are sorted by what they have.
void tell_engine_top(const CompleteGroupsState* state) {
    const Plan* plan = state->css.ss.ps.plan;
    const TopRowsPlan& top = state->top_plan;
    if (top.count == 0 || plan->qual || has_effects_on_rows(plan->targetlist)) return;
    const Expr* expr = list_nth_node(TargetEntry, plan->targetlist, top.column - 1)->expr;
    if (!IsA(expr, Var) || state->groups->css.ss.ps.plan->parallel_aware) return;
    use_top_groups(state->groups, top, reinterpret_cast<const Var*>(expr)->varattno - 1);
}

void begin_node(CustomScanState* node, EState* estate, int eflags) {
    auto* state = state_of(node);
    auto* plan = castNode(CustomScan, node->ss.ps.plan);
    state->combining = ExecInitNode(static_cast<Plan*>(linitial(plan->custom_plans)), estate,
                                    eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
    node->custom_ps = list_make1(state->combining);
    if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY)) state->top = make_top_rows(state->top_plan, &node->ss.ps);
    if (state->does == AboveGroups::PassesOn) return;
    if (state->does == AboveGroups::Chooses) {
        state->other = ExecInitNode(static_cast<Plan*>(lsecond(plan->custom_plans)), estate,
                                    eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
        node->custom_ps = lappend(node->custom_ps, state->other);
    }
    auto* below = castNode(CustomScanState, outerPlanState(state->combining));
    if (reinterpret_cast<const CustomScan*>(below->ss.ps.plan)->methods != &group_methods)
        elog(ERROR, "there is no %s below a %s", kGroupNodeName, kCompleteGroupsNodeName);
    state->groups = reinterpret_cast<GpuJoinState*>(below);
    if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) || state->does == AboveGroups::Chooses) return;
    state->finals = make_group_finals(state->groups->plan.groups, &state->groups->groups);
    tell_engine_top(state);
}

// Calls the function as ExecProcNode() does the node. Rows that it has brought are counted if they are taken
// without it.
template <typename Function>
bool instrumented(GpuJoinState* groups, bool counts, const Function& function) {
    Instrumentation* instrument = groups->css.ss.ps.instrument;
    if (!instrument) return function();
    InstrStartNode(instrument);
    bool found = function();
    InstrStopNode(instrument, counts && found && has_result_row(groups) ? groups->view.rows : 0);
    return found;
}

Source choose_source(CompleteGroupsState* state) {
    GpuJoinState* groups = state->groups;
    if (groups->css.ss.ps.chgParam) ExecReScan(&groups->css.ss.ps);
    const bool is_complete = instrumented(groups, state->does == AboveGroups::Finishes,
                                          [groups] { return come_complete(groups); });
    if (state->does == AboveGroups::Chooses && !is_complete) {
        abandon_join(groups);
        return Source::Other;
    }
    if (state->does == AboveGroups::Chooses) return Source::Combined;
    return is_complete ? Source::Complete : Source::Combined;
}

// A group that is not looked at any more when the next one is wanted.
TupleTableSlot* next_complete_group(CompleteGroupsState* state) {
    GpuJoinState* groups = state->groups;
    TupleTableSlot* slot = state->css.ss.ss_ScanTupleSlot;
    ExecClearTuple(slot);
    while (!has_result_row(groups)) {
        if (groups->phase == Phase::Done) return nullptr;
        if (!instrumented(groups, true, [groups] { return next_result(groups); })) finish_scanning(groups);
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
    TupleTableSlot* slot = ExecProcNode(state->source == Source::Other ? state->other : state->combining);
    return TupIsNull(slot) ? nullptr : slot;
}

// HAVING is tested here.
TupleTableSlot* next_output(CustomScanState* node) {
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

TupleTableSlot* exec_node(CustomScanState* node) {
    return next_among_top(state_of(node)->top, [node] { return next_output(node); });
}

void end_node(CustomScanState* node) {
    ExecEndNode(state_of(node)->combining);
    ExecEndNode(state_of(node)->other);
}

// Core's node has its groups still, and gives them again if nothing has changed; or it has the node below run
// again, whose groups need not be complete then. Otherwise it does not rescan what is below it before it has
// run.
void rescan_children(CompleteGroupsState* state, bool is_changed) {
    PlanState* groups = &state->groups->css.ss.ps;
    const bool was_combined = state->source == Source::Combined;
    if (state->source == Source::Other && !state->other->chgParam) ExecReScan(state->other);
    if (state->source == Source::Other && !is_changed) return;
    if (was_combined || is_changed) ExecReScan(state->combining);
    if (was_combined && !is_changed && state->does == AboveGroups::Finishes) return;
    const bool has_run_alone = state->source == Source::Complete || state->source == Source::Other;
    if (has_run_alone && !groups->chgParam) ExecReScan(groups);
    state->source = Source::Unknown;
}

void rescan_node(CustomScanState* node) {
    auto* state = state_of(node);
    reset_top_rows(state->top);
    PlanState* combining = state->combining;
    const Bitmapset* changed = node->ss.ps.chgParam;
    ListCell* cell;
    const List* children = node->custom_ps;
    if (changed)
        foreach (cell, children)
            UpdateChangedParamSet(static_cast<PlanState*>(lfirst(cell)), const_cast<Bitmapset*>(changed));
    const bool is_changed = combining->chgParam;
    if (state->does == AboveGroups::PassesOn && !is_changed) return ExecReScan(combining);
    if (state->does == AboveGroups::PassesOn) return;  // it is when it is asked for rows
    rescan_children(state, is_changed);
}

void explain_node(CustomScanState* node, List*, ExplainState* es) {
    const Source source = state_of(node)->source;
    const AboveGroups does = state_of(node)->does;
    GpuJoinState* groups = state_of(node)->groups;
    if (es->analyze && groups) snapshot_stats(groups);
    show_top_rows(state_of(node)->top_plan, &node->ss.ps, groups ? all_of_sink(groups).left_out : 0, es);
    if (!es->analyze || source == Source::Unknown || does == AboveGroups::PassesOn) return;
    const bool is_complete =
        source == Source::Complete || (does == AboveGroups::Chooses && source == Source::Combined);
    const char* otherwise = does == AboveGroups::Chooses ? "not complete" : "combined";
    ExplainPropertyText("Groups", is_complete ? "complete" : otherwise, es);
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
    state->does = static_cast<AboveGroups>(linitial_int(plan->custom_private));
    if (!top_rows_behind(plan->custom_private, kIntegersOfNodeAbove, &state->top_plan))
        elog(ERROR, "%s plan of an unknown layout", kCompleteGroupsNodeName);
    if (state->does == AboveGroups::PassesOn) state->source = Source::Combined;
    return reinterpret_cast<Node*>(state);
}

}  // namespace

const CustomScanMethods complete_groups_methods = {
    .CustomName = kCompleteGroupsNodeName,
    .CreateCustomScanState = create_state,
};

}  // namespace gpujoin
