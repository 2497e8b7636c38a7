// BeginCustomScan: children, which columns are kept, sent and emitted, and the join spec. Nothing is opened
// here: EXPLAIN and EvalPlanQual start plans that they may never run.
#include "pg/executor/spec.h"
#include "pg/executor/state.h"

extern "C" {
#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

// The attributes of one child that are wanted on the scan slot, from 1.
struct Wanted {
    Bitmapset* probe;
    Bitmapset* build;
};

// Entries of the scan tuple that expressions refer to.
Bitmapset* scan_entries(Node* expressions) {
    Bitmapset* shifted = nullptr;
    pull_varattnos(expressions, INDEX_VAR, &shifted);
    Bitmapset* entries = nullptr;
    for (int member = -1; (member = bms_next_member(shifted, member)) >= 0;)
        entries = bms_add_member(entries, member + FirstLowInvalidHeapAttributeNumber);
    return entries;
}

void add_wanted(Wanted* wanted, const GpuJoinState* state, Bitmapset* entries, bool probe, bool build) {
    int probe_entries = state->plan.probe_target_entries;
    for (int entry = -1; (entry = bms_next_member(entries, entry)) >= 0;) {
        if (entry <= probe_entries && probe) wanted->probe = bms_add_member(wanted->probe, entry);
        if (entry > probe_entries && build)
            wanted->build = bms_add_member(wanted->build, entry - probe_entries);
    }
}

// tested: what is tested on pairs here. Of a side whose columns the join does not give, the entries are NULL.
Wanted find_wanted(const GpuJoinState* state, List* tested) {
    Plan* plan = state->css.ss.ps.plan;
    JoinRows gives = rows_of(state->plan.kind);
    Wanted wanted = {nullptr, nullptr};
    Bitmapset* above = bms_union(scan_entries(reinterpret_cast<Node*>(plan->targetlist)),
                                 scan_entries(reinterpret_cast<Node*>(plan->qual)));
    add_wanted(&wanted, state, above, gives.has_probe_columns(), gives.has_build_columns());
    add_wanted(&wanted, state, scan_entries(reinterpret_cast<Node*>(tested)), true, true);
    return wanted;
}

void keep_probe_columns(GpuJoinState* state, Bitmapset* wanted) {
    TupleDesc desc = ExecGetResultType(state->probe.plan);
    state->kept = static_cast<KeptColumn*>(palloc0(sizeof(KeptColumn) * (bms_num_members(wanted) + 1)));
    for (int member = -1; (member = bms_next_member(wanted, member)) >= 0;) {
        Form_pg_attribute attribute = TupleDescAttr(desc, member - 1);
        state->kept[state->kept_count++] = {attribute->attnum, attribute->attbyval, attribute->attlen};
        side_want(&state->probe, attribute->attnum);
    }
    for (ProbeBatch& batch : state->batches)
        probe_batch_init(&batch, state->css.ss.ps.state->es_query_cxt, state->kept, state->kept_count);
}

// Adds the clauses from `first` to before `end` as one test.
void add_test(GpuJoinState* state, const List* clauses, int first, int end, bool only_undecided) {
    List* tested = NIL;
    for (int i = first; i < end; i++) tested = lappend(tested, list_nth(clauses, i));
    if (tested == NIL) return;
    state->tests[state->test_count++] = {ExecInitQual(tested, &state->css.ss.ps), only_undecided};
}

// Makes the tests of pairs, and returns what they test: the residual, and the conditions where the filter
// program may not decide them, in the order of the plan.
List* init_tests(GpuJoinState* state) {
    auto* plan = castNode(CustomScan, state->css.ss.ps.plan);
    List* residual = list_nth_node(List, plan->custom_exprs, kResidualExprs);
    List* conditions = list_nth_node(List, plan->custom_exprs, kConditionExprs);
    int count = may_be_undecided(state->plan.program) ? state->plan.conditions : 0;
    state->tests = static_cast<PairTest*>(palloc0(sizeof(PairTest) * (2 * count + 1)));
    const int* residual_before = state->plan.residual_before;
    int tested = 0;
    for (int first = 0, end; first < count; first = end) {
        add_test(state, residual, tested, residual_before[first], false);
        tested = residual_before[first];
        for (end = first + 1; end < count && residual_before[end] == tested;) end++;
        add_test(state, conditions, first, end, true);
    }
    add_test(state, residual, tested, list_length(residual), false);
    return count > 0 ? list_concat_copy(residual, conditions) : residual;
}

// A target list of nothing but scan entries can be filled by the emitter itself.
bool is_plain(List* targetlist) {
    ListCell* cell;
    foreach (cell, targetlist) {
        Expr* expression = lfirst_node(TargetEntry, cell)->expr;
        if (!IsA(expression, Var) || reinterpret_cast<Var*>(expression)->varno != INDEX_VAR) return false;
    }
    return true;
}

// Adds the emitter's column for one scan entry; entries that no row has a value for stay NULL.
void add_emitted(GpuJoinState* state, int entry, int target, const Wanted* wanted, const int* output_of) {
    Emitter* emitter = &state->emitter;
    int build_entry = entry - state->plan.probe_target_entries;
    if (build_entry <= 0) {
        if (!bms_is_member(entry, wanted->probe)) return;
        int kept = 0;
        while (state->kept[kept].attribute != entry) kept++;
        emitter->probe[emitter->probe_count++] = {target, kept, nullptr, nullptr};
    } else if (bms_is_member(build_entry, wanted->build)) {
        Form_pg_attribute attribute = TupleDescAttr(ExecGetResultType(state->build.plan), build_entry - 1);
        emitter->build[emitter->build_count++] = {
            target, output_of[build_entry - 1], payload_form(attribute), nullptr, nullptr, nullptr};
    }
}

// Joins without conditions and computed columns fill the slot that they return; others fill the scan slot.
void init_emitter(GpuJoinState* state, const Wanted* wanted, const int* output_of) {
    PlanState* ps = &state->css.ss.ps;
    List* targetlist = ps->plan->targetlist;
    TupleTableSlot* scan_slot = state->css.ss.ss_ScanTupleSlot;
    bool plain = !ps->ps_ProjInfo || is_plain(targetlist);
    state->direct = state->test_count == 0 && !ps->qual && plain;
    bool returned = state->direct && ps->ps_ProjInfo;
    Emitter* emitter = &state->emitter;
    emitter->slot = returned ? ps->ps_ResultTupleSlot : scan_slot;
    int columns = emitter->slot->tts_tupleDescriptor->natts;
    emitter->probe = static_cast<EmitProbeColumn*>(palloc0(sizeof(EmitProbeColumn) * (columns + 1)));
    emitter->build = static_cast<EmitBuildColumn*>(palloc0(sizeof(EmitBuildColumn) * (columns + 1)));
    memset(emitter->slot->tts_isnull, true, columns);
    for (int target = 0; target < columns; target++) {
        int entry = target + 1;
        if (returned) {
            auto* tle = list_nth_node(TargetEntry, targetlist, target);
            entry = reinterpret_cast<Var*>(tle->expr)->varattno;
        }
        add_emitted(state, entry, target, wanted, output_of);
    }
}

bool contains_param(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, Param)) return true;
    return walk_expression(node, contains_param, context);
}

void init_children(GpuJoinState* state, EState* estate, int eflags) {
    auto* plan = castNode(CustomScan, state->css.ss.ps.plan);
    state->probe.plan = ExecInitNode(static_cast<Plan*>(linitial(plan->custom_plans)), estate, eflags);
    state->build.plan = ExecInitNode(static_cast<Plan*>(lsecond(plan->custom_plans)), estate, eflags);
    state->css.custom_ps = list_make2(state->probe.plan, state->build.plan);
}

}  // namespace

void begin_node(CustomScanState* node, EState* estate, int eflags) {
    auto* state = reinterpret_cast<GpuJoinState*>(node);
    auto* plan = castNode(CustomScan, node->ss.ps.plan);
    init_children(state, estate, eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
    List* tested = init_tests(state);  // also for EXPLAIN, which shows their SubPlans
    if (eflags & EXEC_FLAG_EXPLAIN_ONLY) return;
    Wanted wanted = find_wanted(state, tested);
    keep_probe_columns(state, wanted.probe);
    int build_entries = ExecGetResultType(state->build.plan)->natts;
    auto* output_of = static_cast<int*>(palloc0(sizeof(int) * (build_entries + 1)));
    build_spec(state, wanted.build, output_of);
    init_emitter(state, &wanted, output_of);
    state->reads_on_demand = reads_with_effects(state->probe.plan);
    if (!state->reads_on_demand && !state->plan.has_dear_filter) side_choose_source(&state->probe);
    side_choose_source(&state->build);
    // Append keeps finished children alive: what the server holds is given back after the last row, unless a
    // rescan is likely.
    state->keep_open = (eflags & EXEC_FLAG_REWIND) || !bms_is_empty(plan->scan.plan.extParam);
    for (CustomExprs which : {kEqualityExprs, kRangeExprs, kFilterExprs, kBuildValueExprs})
        state->build_uses_params |=
            contains_param(static_cast<Node*>(list_nth(plan->custom_exprs, which)), nullptr);
}

}  // namespace gpujoin
