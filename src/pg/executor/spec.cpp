// See spec.h. A node with one join whose rows come out is a plain join: its probe columns are the source's.
#include "pg/executor/spec.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/settings.h"

extern "C" {
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

int term_count(const StagePlan* plan) {
    return plan->equalities + plan->ranges + plan->filters;
}

bool is_plain_join(const GpuJoinState* state) {
    return state->plan.stage_count == 1 && !state->plan.groups;
}

ChildColumns* columns_of(FragmentParts* parts, int child) {
    return &parts->children[child + 1];
}

// The type of the ranges in a term that compares bounds.
Oid range_type(const OpExpr* clause, const PlanTerm& term) {
    bool on_probe = term.probe_part != KeyPart::Value;
    return getBaseType(
        exprType(static_cast<Node*>(on_probe ? linitial(clause->args) : lsecond(clause->args))));
}

Key key_of(const OpExpr* clause, const PlanTerm& term, bool is_probe_side) {
    Oid types[2];
    op_input_types(clause->opno, &types[0], &types[1]);
    if (is_bound(term.encoding)) types[0] = types[1] = range_type(clause, term);
    bool ordered = term.comparison != Comparison::Equal;
    auto* expression = static_cast<Expr*>(is_probe_side ? linitial(clause->args) : lsecond(clause->args));
    return {expression, term.encoding, types[is_probe_side ? 0 : 1],
            ordered,    ordered,       is_probe_side ? term.probe_part : term.build_part,
            0};
}

// The probe column that a reference is, of a stage; the same references share one.
uint16_t probe_column(FragmentParts* parts, int stage, ColumnRef ref) {
    StageSpec* spec = &parts->stages[stage];
    JoinSpec* join = &spec->join;
    for (uint16_t i = 0; i < join->probe_columns; i++)
        if (spec->probe[i].origin == ref.origin && spec->probe[i].column == ref.column) return i;
    if (join->probe_columns == kMaxColumns) refuse_columns();
    uint16_t number = join->probe_columns++;
    spec->probe[number] = ref;
    join->probe[number] = column_of({parts->spec, {parts->stages, static_cast<size_t>(stage) + 1}}, ref);
    return number;
}

// The column for a key on the probe side of a stage, which an earlier input has.
uint16_t probe_key(FragmentParts* parts, int stage, const Key& key, const OpExpr* clause) {
    int child = child_of(parts->state, reinterpret_cast<Node*>(key.expression));
    return probe_column(parts, stage,
                        ref_to(parts, child, key_column(columns_of(parts, child), key, clause, true)));
}

void add_terms(FragmentParts* parts, int stage, List* clauses, const PlanTerm* plan_terms, Term* terms) {
    ListCell* cell;
    foreach (cell, clauses) {
        int i = foreach_current_index(cell);
        auto* clause = lfirst_node(OpExpr, cell);
        terms[i].probe_column = probe_key(parts, stage, key_of(clause, plan_terms[i], true), clause);
        terms[i].build_column =
            key_column(columns_of(parts, stage), key_of(clause, plan_terms[i], false), clause, false);
        terms[i].comparison = plan_terms[i].comparison;
    }
}

// Rows of the probe input with a NULL in a key of the only join have no partner. In chains a column may be
// read again.
void add_keys(FragmentParts* parts, int number) {
    JoinStage* stage = &parts->state->stages[number];
    const StagePlan* plan = stage->plan;
    JoinSpec* join = &parts->stages[number].join;
    const PlanTerm* terms = plan->terms;
    add_terms(parts, number, exprs_of(stage, kEqualityExprs), terms, join->equality);
    stage->build.writer.equality_columns = columns_of(parts, number)->key_columns;
    if (is_plain_join(parts->state))
        parts->state->probe.side.writer.equality_columns = columns_of(parts, kProbeChild)->key_columns;
    terms += plan->equalities;
    add_terms(parts, number, exprs_of(stage, kRangeExprs), terms, join->range);
    terms += plan->ranges;
    add_terms(parts, number, exprs_of(stage, kFilterExprs), terms, join->filter);
}

Key value_key(List* expressions, const PlanValues* values, int number) {
    const PlanValue& value = values->value[number];
    auto* expression = static_cast<Expr*>(list_nth(expressions, number));
    return {expression, value.encoding, value.type, false, true, KeyPart::Value, value.scale};
}

// The filter program with numbers of columns for those of values.
void add_program(FragmentParts* parts, int number) {
    const JoinStage* stage = &parts->state->stages[number];
    const StagePlan* plan = stage->plan;
    uint16_t probe_columns[kMaxPlanValues];
    uint16_t build_columns[kMaxPlanValues];
    for (int i = 0; i < plan->probe_values.count; i++)
        probe_columns[i] = probe_key(
            parts, number, value_key(exprs_of(stage, kProbeValueExprs), &plan->probe_values, i), nullptr);
    for (int i = 0; i < plan->build_values.count; i++)
        build_columns[i] =
            key_column(columns_of(parts, number),
                       value_key(exprs_of(stage, kBuildValueExprs), &plan->build_values, i), nullptr, false);
    FilterProgram* program = &parts->stages[number].join.program;
    *program = plan->program;
    for (int i = 0; i < program->steps; i++) {
        FilterStep* step = &program->step[i];
        if (!has_source(step->opcode)) continue;
        if (step->source == FilterSource::Probe) step->operand = probe_columns[step->operand];
        if (step->source == FilterSource::Build) step->operand = build_columns[step->operand];
    }
}

uint64_t row_estimate(double rows) {
    return rows < 1 ? 1 : rows > 1e18 ? static_cast<uint64_t>(1e18) : static_cast<uint64_t>(rows);
}

// Whether this side decides which candidates are matches: where a residual does, or conditions on undecided
// pairs, and in semijoins whose matched row is wanted, since the server only says that there is one.
bool must_decide(const JoinStage* stage) {
    JoinKind kind = stage->plan->kind;
    return kind != JoinKind::Inner &&
           (stage->test_count > 0 || (kind == JoinKind::Semi && !bms_is_empty(stage->emitted)));
}

void set_facts(const GpuJoinState* state, const JoinStage* stage) {
    JoinSpec* spec = stage->spec;
    const StagePlan* plan = stage->plan;
    spec->kind = plan->kind;
    spec->algorithm = static_cast<Algorithm>(setting_algorithm);
    set_result_order(state, spec, state->probe.carries);
    spec->client_decides = must_decide(stage);
    spec->equalities = static_cast<uint16_t>(plan->equalities);
    spec->ranges = static_cast<uint16_t>(plan->ranges);
    spec->filters = static_cast<uint16_t>(plan->filters);
    spec->estimated_probe_rows = row_estimate(state->plan.estimated_probe_rows);
}

Form_pg_attribute attribute_of(const Side* side, int number) {
    return TupleDescAttr(ExecGetResultType(side->plan), number - 1);
}

int* make_result_of(const Side* side) {
    return zeroed<int>(ExecGetResultType(side->plan)->natts + 1);
}

// What results have of the build sides: of a plain join the outputs, of a chain the sink's inputs.
void add_results(FragmentParts* parts) {
    GpuJoinState* state = parts->state;
    for (int i = 0; i < state->plan.stage_count; i++) {
        JoinStage* stage = &state->stages[i];
        stage->result_of = make_result_of(&stage->build);
        for (int member = -1; (member = bms_next_member(stage->emitted, member)) >= 0;) {
            uint16_t column = value_column(columns_of(parts, i), attribute_of(&stage->build, member));
            ColumnRef ref = ref_to(parts, i, column);
            stage->result_of[member - 1] = is_plain_join(state) ? ref.column : sink_input(parts, ref);
        }
    }
}

// Behind the outputs.
int carry_column(JoinSpec* join, uint16_t column) {
    join->carry[join->carried++] = column;
    return join->outputs + join->carried - 1;
}

// What results have of the probe input: of a chain, inputs of the sink, too.
void add_carried(FragmentParts* parts) {
    ProbeInput* probe = &parts->state->probe;
    probe->result_of = make_result_of(&probe->side);
    for (int member = -1; (member = bms_next_member(probe->emitted, member)) >= 0;) {
        uint16_t column = value_column(columns_of(parts, kProbeChild), attribute_of(&probe->side, member));
        probe->result_of[member - 1] = is_plain_join(parts->state)
                                           ? carry_column(&parts->stages[0].join, column)
                                           : sink_input(parts, {kFromSource, column});
    }
}

// How many columns each input may have at most.
int most_columns(const GpuJoinState* state) {
    int count = bms_num_members(state->probe.emitted) + 1;
    for (int i = 0; i < state->plan.stage_count; i++) {
        const JoinStage* stage = &state->stages[i];
        count += term_count(stage->plan) + stage->plan->probe_values.count + stage->plan->build_values.count +
                 bms_num_members(stage->emitted);
    }
    const GroupsPlan* groups = state->plan.groups;
    return groups ? count + groups->keys + groups->values.count + groups->any_count : count;
}

// Most of a spec are programs and aggregates: left alone, where there are no groups, they take no memory.
FragmentSpec* make_spec(const GpuJoinState* state) {
    if (state->plan.groups) return zeroed<FragmentSpec>();
    auto* spec = unset<FragmentSpec>();
    memset(static_cast<void*>(spec), 0, offsetof(FragmentSpec, value));
    return spec;
}

FragmentParts start_parts(GpuJoinState* state) {
    int stages = state->plan.stage_count;
    state->fragment = make_spec(state);
    state->stage_specs = zeroed<StageSpec>(stages);
    FragmentParts parts = {state, state->fragment, state->stage_specs, unset<ChildColumns>(stages + 1)};
    int columns = most_columns(state);
    parts.children[0] = collect_columns(state, kProbeChild, parts.spec->source, columns);
    for (int i = 0; i < stages; i++) {
        state->stages[i].spec = &parts.stages[i].join;
        set_facts(state, &state->stages[i]);
        parts.children[i + 1] = collect_columns(state, i, parts.stages[i].join.build, columns);
    }
    return parts;
}

// Once no more columns come.
void count_columns(FragmentParts* parts) {
    GpuJoinState* state = parts->state;
    const BatchWriter* source = &state->probe.side.writer;
    parts->spec->source_columns = static_cast<uint16_t>(source->column_count);
    for (int i = 0; i < state->plan.stage_count; i++) {
        const BatchWriter* build = &state->stages[i].build.writer;
        parts->stages[i].join.build_columns = static_cast<uint16_t>(build->column_count);
    }
    if (!is_plain_join(state)) return;
    for (uint16_t i = 0; i < parts->spec->source_columns; i++) probe_column(parts, 0, {kFromSource, i});
}

}  // namespace

ColumnRef ref_to(FragmentParts* parts, int child, uint16_t column) {
    if (child == kProbeChild) return {kFromSource, column};
    JoinSpec* join = &parts->stages[child].join;
    uint16_t output = 0;
    while (output < join->outputs && join->output[output] != column) output++;
    if (output == join->outputs) join->output[join->outputs++] = column;
    return {static_cast<uint16_t>(child), output};
}

uint16_t sink_input(FragmentParts* parts, ColumnRef ref) {
    FragmentSpec* spec = parts->spec;
    uint16_t number = 0;
    while (number < spec->inputs &&
           (spec->input[number].origin != ref.origin || spec->input[number].column != ref.column))
        number++;
    if (number == kMaxColumns) refuse_columns();
    if (number == spec->inputs) spec->input[spec->inputs++] = ref;
    return number;
}

bool carries(const GpuJoinState* state) {
    if (state->plan.groups || !state->plan.may_carry) return false;
    if (!is_scan(state) &&
        (rows_of(last_stage(state)->plan->kind).scans_build() || must_decide(last_stage(state))))
        return false;
    int inputs = bms_num_members(state->probe.emitted);
    int outputs = inputs;
    for (int i = 0; i < state->plan.stage_count; i++) {
        const JoinStage* stage = &state->stages[i];
        inputs += term_count(stage->plan) + stage->plan->probe_values.count;
        outputs += bms_num_members(stage->emitted);
    }
    return Max(inputs, outputs) <= int{kMaxColumns};
}

void set_result_order(const GpuJoinState* state, JoinSpec* spec, bool is_any) {
    is_any = is_any && is_plain_join(state);
    spec->order = is_any ? ResultOrder::Any : ResultOrder::Ascending;
    spec->names_probe_rows = !is_any;
}

void build_fragment(GpuJoinState* state) {
    FragmentParts parts = start_parts(state);
    TopSpec top = {};
    parts.spec->source_is_kept = state->plan.source_is_kept;
    parts.spec->estimated_source_rows = row_estimate(state->plan.estimated_source_rows);
    for (int i = 0; i < state->plan.stage_count; i++) {
        add_keys(&parts, i);
        add_program(&parts, i);
    }
    if (state->plan.groups) {
        parts.spec->sink = SinkKind::Groups;
        add_group_keys(&parts);
        add_group_values(&parts);
    } else {
        add_results(&parts);
        if (state->probe.carries) add_carried(&parts);
        parts.spec->source_is_unnamed = state->probe.carries;
        top = find_top_of_rows(&parts);
    }
    count_columns(&parts);
    use_top_rows(state, top);
}

}  // namespace gpujoin
