// BeginCustomScan: children, which columns are kept, sent and emitted, and the join spec. Nothing is opened
// here: EXPLAIN and EvalPlanQual start plans that they may never run.
#include "pg/executor/spec.h"
#include "pg/allocate.h"
#include "pg/executor/parallel_rescan.h"
#include "pg/executor/state.h"
#include "pg/keep_requests.h"
#include "pg/kept_proof.h"

extern "C" {
#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

// Entries of the scan tuple that expressions refer to.
Bitmapset* scan_entries(Node* expressions) {
    Bitmapset* shifted = nullptr;
    pull_varattnos(expressions, INDEX_VAR, &shifted);
    Bitmapset* entries = nullptr;
    for (int member = -1; (member = bms_next_member(shifted, member)) >= 0;)
        entries = bms_add_member(entries, member + FirstLowInvalidHeapAttributeNumber);
    return entries;
}

// Whether the join's rows have the columns of a child; where they do not, entries from it are NULL.
bool gives_columns(const GpuJoinState* state, int child) {
    if (child == kProbeChild)
        return is_scan(state) || rows_of(last_stage(state)->plan->kind).has_probe_columns();
    return rows_of(state->stages[child].plan->kind).has_build_columns();
}

void add_emitted(GpuJoinState* state, int entry) {
    ChildColumn column = child_column(&state->plan, entry);
    Bitmapset** emitted =
        column.child == kProbeChild ? &state->probe.emitted : &state->stages[column.child].emitted;
    *emitted = bms_add_member(*emitted, column.attribute);
}

// tested: what is tested on pairs here.
void find_emitted(GpuJoinState* state, List* tested) {
    Plan* plan = state->css.ss.ps.plan;
    Bitmapset* above = bms_union(scan_entries(reinterpret_cast<Node*>(plan->targetlist)),
                                 scan_entries(reinterpret_cast<Node*>(plan->qual)));
    for (int entry = -1; (entry = bms_next_member(above, entry)) >= 0;)
        if (gives_columns(state, child_column(&state->plan, entry).child)) add_emitted(state, entry);
    Bitmapset* on_pairs = scan_entries(reinterpret_cast<Node*>(tested));
    for (int entry = -1; (entry = bms_next_member(on_pairs, entry)) >= 0;) add_emitted(state, entry);
}

void keep_probe_columns(GpuJoinState* state) {
    ProbeInput* probe = &state->probe;
    TupleDesc desc = ExecGetResultType(probe->side.plan);
    int count = bms_num_members(probe->emitted);
    probe->kept = zeroed<KeptColumn>(count + 1);
    for (int member = -1; (member = bms_next_member(probe->emitted, member)) >= 0;) {
        Form_pg_attribute attribute = TupleDescAttr(desc, member - 1);
        probe->kept[probe->kept_count++] = {attribute->attnum, attribute->attbyval, attribute->attlen};
        side_want(&probe->side, attribute->attnum);
    }
    for (ProbeBatch& batch : probe->batches)
        probe_batch_init(&batch, state->css.ss.ps.state->es_query_cxt, probe->kept, probe->kept_count);
}

// Adds the clauses from `first` to before `end` as one test.
void add_test(GpuJoinState* state, JoinStage* stage, const List* clauses, int first, int end,
              bool only_undecided) {
    List* tested = NIL;
    for (int i = first; i < end; i++) tested = lappend(tested, list_nth(clauses, i));
    if (tested == NIL) return;
    stage->tests[stage->test_count++] = {ExecInitQual(tested, &state->css.ss.ps), only_undecided};
}

// Makes the tests of a stage's pairs, and returns what they test: the residual, and the conditions where the
// filter program may not decide them, in the order of the plan.
List* init_tests(GpuJoinState* state, JoinStage* stage) {
    List* residual = exprs_of(stage, kResidualExprs);
    List* conditions = exprs_of(stage, kConditionExprs);
    int count = may_be_undecided(stage->plan->program) ? stage->plan->conditions : 0;
    stage->tests = zeroed<PairTest>(2 * count + 1);
    const int* residual_before = stage->plan->residual_before;
    int tested = 0;
    for (int first = 0, end; first < count; first = end) {
        add_test(state, stage, residual, tested, residual_before[first], false);
        tested = residual_before[first];
        for (end = first + 1; end < count && residual_before[end] == tested;) end++;
        add_test(state, stage, conditions, first, end, true);
    }
    add_test(state, stage, residual, tested, list_length(residual), false);
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
void add_emitter_column(GpuJoinState* state, int entry, int target) {
    Emitter* emitter = &state->emitter;
    ChildColumn column = child_column(&state->plan, entry);
    bool of_probe = column.child == kProbeChild;
    const ProbeInput* probe = &state->probe;
    const JoinStage* stage = of_probe ? nullptr : &state->stages[column.child];
    if (!bms_is_member(column.attribute, of_probe ? probe->emitted : stage->emitted)) return;
    if (of_probe && !probe->carries) {
        int kept = 0;
        while (probe->kept[kept].attribute != column.attribute) kept++;
        emitter->probe[emitter->probe_count++] = {target, kept, nullptr, nullptr};
        return;
    }
    int attribute = column.attribute - 1;
    TupleDesc desc = ExecGetResultType(of_probe ? probe->side.plan : stage->build.plan);
    int result = of_probe ? probe->result_of[attribute] : stage->result_of[attribute];
    OutputForm form = output_form(TupleDescAttr(desc, attribute));
    state->scanned.attributes[emitter->result_count] = attribute;
    emitter->result[emitter->result_count++] = {target, result, form, nullptr, nullptr, nullptr};
}

bool tests_pairs(const GpuJoinState* state) {
    for (int i = 0; i < state->plan.stage_count; i++)
        if (state->stages[i].test_count > 0) return true;
    return false;
}

EmitState emit_state(const EntryState& entry, TupleDesc desc) {
    EmitState state = {};
    state.target = entry.entry - 1;
    state.form = entry.form;
    state.type_length = TupleDescAttr(desc, state.target)->attlen;
    state.scale = entry.scale;
    state.value.column = entry.column;
    state.count.column = entry.count_column;
    state.third.column = entry.third_column;
    state.lower_scale = entry.lower_scale;
    return state;
}

// Groups fill the scan slot.
void init_group_emitter(GpuJoinState* state) {
    const GroupsPlan* plan = state->plan.groups;
    Emitter* emitter = &state->emitter;
    emitter->slot = state->css.ss.ss_ScanTupleSlot;
    TupleDesc desc = emitter->slot->tts_tupleDescriptor;
    emitter->result = zeroed<EmitResultColumn>(plan->states + 1);
    state->groups.states = zeroed<EmitState>(plan->states + 1);
    memset(emitter->slot->tts_isnull, true, desc->natts);
    for (int i = 0; i < plan->states; i++) {
        const EntryState& entry = plan->state[i];
        int target = entry.entry - 1;
        if (entry.form == StateForm::Column)
            emitter->result[emitter->result_count++] =
                emitted_column(plan, entry, entry.column, TupleDescAttr(desc, target));
        else
            state->groups.states[state->groups.count++] = emit_state(entry, desc);
    }
    init_escaped_rows(&state->escaped, &state->css.ss.ps, plan, state->fragment, emitter->slot,
                      group_exprs_of(state, kValueExprs), group_exprs_of(state, kArgumentExprs));
}

// Joins without conditions and computed columns fill the slot that they return; others fill the scan slot.
void init_emitter(GpuJoinState* state) {
    PlanState* ps = &state->css.ss.ps;
    List* targetlist = ps->plan->targetlist;
    TupleTableSlot* scan_slot = state->css.ss.ss_ScanTupleSlot;
    bool plain = !ps->ps_ProjInfo || is_plain(targetlist);
    state->direct = !tests_pairs(state) && !ps->qual && plain;
    bool returned = state->direct && ps->ps_ProjInfo;
    Emitter* emitter = &state->emitter;
    emitter->slot = returned ? ps->ps_ResultTupleSlot : scan_slot;
    int columns = emitter->slot->tts_tupleDescriptor->natts;
    state->scanned.attributes = zeroed<int>(columns + 1);
    emitter->probe = zeroed<EmitProbeColumn>(columns + 1);
    emitter->result = zeroed<EmitResultColumn>(columns + 1);
    memset(emitter->slot->tts_isnull, true, columns);
    for (int target = 0; target < columns; target++) {
        int entry = target + 1;
        if (returned) {
            auto* tle = list_nth_node(TargetEntry, targetlist, target);
            entry = reinterpret_cast<Var*>(tle->expr)->varattno;
        }
        add_emitter_column(state, entry, target);
    }
}

bool contains_param(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, Param)) return true;
    return walk_expression(node, contains_param, context);
}

void init_children(GpuJoinState* state, EState* estate, int eflags) {
    auto* plan = castNode(CustomScan, state->css.ss.ps.plan);
    ListCell* cell;
    foreach (cell, plan->custom_plans) {
        PlanState* child = ExecInitNode(static_cast<Plan*>(lfirst(cell)), estate, eflags);
        int stage = foreach_current_index(cell) - 1;
        side_init(stage < 0 ? &state->probe.side : &state->stages[stage].build, child);
        state->css.custom_ps = lappend(state->css.custom_ps, child);
    }
}

// Whether one of the expressions, or of the clauses' left arguments, is computed with a stage's build rows
// and a Param.
bool any_uses_params(const GpuJoinState* state, int number, List* expressions, bool are_clauses) {
    ListCell* cell;
    foreach (cell, expressions) {
        auto* node = static_cast<Node*>(lfirst(cell));
        if (are_clauses) node = static_cast<Node*>(linitial(castNode(OpExpr, node)->args));
        if (contains_param(node, nullptr) && child_of(state, node) == number) return true;
    }
    return false;
}

// Of what is sent of a build side: its own keys and values, and what later stages and groups read of it.
bool build_uses_params(const GpuJoinState* state, int number) {
    const JoinStage* stage = &state->stages[number];
    for (StageExprs which : {kEqualityExprs, kRangeExprs, kFilterExprs, kBuildValueExprs})
        if (contains_param(reinterpret_cast<Node*>(exprs_of(stage, which)), nullptr)) return true;
    for (int later = number + 1; later < state->plan.stage_count; later++)
        for (StageExprs which : {kEqualityExprs, kRangeExprs, kFilterExprs, kProbeValueExprs})
            if (any_uses_params(state, number, exprs_of(&state->stages[later], which),
                                which != kProbeValueExprs))
                return true;
    if (!state->plan.groups) return false;
    for (GroupExprs which : {kKeyExprs, kValueExprs, kAnyExprs})
        if (any_uses_params(state, number, group_exprs_of(state, which), false)) return true;
    return false;
}

// What has effects is read once, whatever becomes of the join, and so is what cannot be read again.
void choose_build_source(const GpuJoinState* state, Side* build) {
    const PlanState* ps = &state->css.ss.ps;
    if (reads_with_effects(build->plan) || (ps->plan->parallel_aware && !can_reset_shared_scans(build->plan)))
        build->copy = row_file_create(ps->state->es_query_cxt);
    else
        side_choose_source(build);
}

// Processes that run the join together share what is kept of whole inputs alone.
void use_kept_rows(Side* side, const Plan* plan, EState* estate) {
    if (plan->parallel_aware && side->part_count > 1) return;
    for (int i = 0; i < side->part_count; i++)
        if (HeapScan* heap = side->parts[i].heap)
            side->parts[i].kept = kept_source_create(heap, &side->writer, estate);
}

// The plan counts on kept rows, which the scan does not take, whatever is kept.
void tell_of_unkept(const Side* side) {
    for (int i = 0; i < side->part_count; i++) {
        const SidePart* part = &side->parts[i];
        if (part->kept || !IsA(part->plan, SeqScanState)) continue;
        Relation relation = reinterpret_cast<const ScanState*>(part->plan)->ss_currentRelation;
        asking_scans->lacking.add(chunk_key(relation, 0));
    }
}

}  // namespace

void begin_node(CustomScanState* node, EState* estate, int eflags) {
    auto* state = reinterpret_cast<GpuJoinState*>(node);
    ProbeInput* probe = &state->probe;
    init_children(state, estate, eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
    // Also for EXPLAIN, which shows the tests' SubPlans and whether the join carries.
    List* tested = NIL;
    for (int i = 0; i < state->plan.stage_count; i++)
        tested = list_concat(tested, init_tests(state, &state->stages[i]));
    if (!state->plan.groups) find_emitted(state, tested);
    probe->carries = carries(state);
    if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) && !asking_scans) return;
    probe->keeps = !probe->carries && !state->plan.groups;
    if (probe->keeps) keep_probe_columns(state);
    build_fragment(state);
    if (state->plan.groups)
        init_group_emitter(state);
    else
        init_emitter(state);
    probe->reads_on_demand = reads_with_effects(probe->side.plan);
    probe->can_be_reread = !probe->reads_on_demand && !shares_scans(probe->side.plan);
    if (!probe->reads_on_demand && !state->plan.has_dear_conditions) side_choose_source(&probe->side);
    if (state->plan.groups || probe->carries) use_kept_rows(&probe->side, node->ss.ps.plan, estate);
    if (asking_scans && state->plan.may_carry) tell_of_unkept(&probe->side);
    for (int i = 0; i < state->plan.stage_count; i++) {
        Side* build = &state->stages[i].build;
        choose_build_source(state, build);
        if (build->part_count == 1) use_kept_rows(build, node->ss.ps.plan, estate);
        state->stages[i].build_uses_params = build_uses_params(state, i);
    }
    state->top = make_top_rows(state->plan.top, &node->ss.ps);
    // Append keeps finished children alive: what the server holds is given back after the last row, unless a
    // rescan is likely.
    state->keep_open = (eflags & EXEC_FLAG_REWIND) || !bms_is_empty(node->ss.ps.plan->extParam);
}

}  // namespace gpujoin
