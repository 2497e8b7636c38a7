// See spec.h.
#include "pg/executor/spec.h"

#include "pg/allocate.h"
#include "pg/compat.h"

#include "pg/executor/encoders.h"
#include "pg/executor/output_column.h"
#include "pg/overflow.h"
#include "pg/settings.h"
#include "wire/plain_fragment.h"

extern "C" {
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

int term_count(const StagePlan* plan) {
    return plan->equalities + plan->ranges + plan->filters;
}

// What a key column is made of: a side of a clause.
struct Key {
    Expr* expression;  // as in the plan
    KeyEncoding encoding;
    Oid declared_type;  // of the operator on this side; of bounds the range type
    bool ordered;       // first used by a range or <>
    bool is_total;      // must be evaluated for every row without an error
    KeyPart part;
};

// The columns of one side while they are being collected.
struct Collected {
    GpuJoinState* state;
    JoinStage* stage;
    Side* side;
    bool probe;
    ColumnSpec* specs;
    Key* keys;
    int key_columns;
};

struct Remap {
    const PlanData* plan;
    int stage;
};

// INDEX_VARs into custom_scan_tlist become Vars of the slots of the probe child and the stage's build child.
Node* remap_mutator(Node* node, void* context) {
    if (!node) return nullptr;
    if (!IsA(node, Var) || reinterpret_cast<Var*>(node)->varno != INDEX_VAR)
        return mutate_expression(node, remap_mutator, context);
    auto* var = static_cast<Var*>(copyObjectImpl(node));
    auto* remap = static_cast<Remap*>(context);
    ChildColumn column = child_column(remap->plan, var->varattno);
    var->varno = column.child == remap->stage ? INNER_VAR : OUTER_VAR;
    var->varattno = column.attribute;
    return reinterpret_cast<Node*>(var);
}

// The child's attribute that an expression is, apart from relabelling; 0 when it must be evaluated.
AttrNumber plain_attribute(Node* expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(expression)->arg);
    return IsA(expression, Var) ? reinterpret_cast<Var*>(expression)->varattno : 0;
}

// Where a key column's values come from, straight from the slot where it can be, and how they are encoded.
void init_key_column(const Collected* columns, InputColumn* column, const Key& key, const OpExpr* clause) {
    GpuJoinState* state = columns->state;
    Remap remap = {&state->plan, static_cast<int>(columns->stage - state->stages)};
    Node* mapped = remap_mutator(reinterpret_cast<Node*>(key.expression), &remap);
    BatchWriter* writer = &columns->side->writer;
    column->attribute = plain_attribute(mapped);
    bool shifted = column->attribute == 0 && key.ordered && init_shifted_column(column, mapped, key.encoding);
    if (is_bound(key.encoding))
        init_bound_column(column, key.encoding, key.part, key.declared_type);
    else if (key.encoding == KeyEncoding::Hash64)
        init_hash_column(column, clause, columns->probe);
    else if (!shifted)
        column->encoder = find_encoder(key.encoding, key.declared_type);
    if (column->attribute == 0) {
        column->expression = ExecInitExpr(reinterpret_cast<Expr*>(mapped), &state->css.ss.ps);
        column->may_overflow = key.is_total && may_overflow(mapped);
    }
    if (column->attribute == 0) writer->evaluates = true;
    if (column->attribute == 0 || encoder_allocates(key.encoding)) writer->allocates = true;
    if (column->attribute > 0)
        side_want(columns->side, column->attribute);
    else
        side_want_columns(columns->side, mapped, columns->probe ? OUTER_VAR : INNER_VAR);
}

// The type of the ranges in a term that compares bounds.
Oid range_type(const OpExpr* clause, const PlanTerm& term) {
    bool on_probe = term.probe_part != KeyPart::Value;
    return getBaseType(
        exprType(static_cast<Node*>(on_probe ? linitial(clause->args) : lsecond(clause->args))));
}

Key key_of(const Collected* columns, const OpExpr* clause, const PlanTerm& term) {
    Oid left;
    Oid right;
    op_input_types(clause->opno, &left, &right);
    if (is_bound(term.encoding)) left = right = range_type(clause, term);
    bool ordered = term.comparison != Comparison::Equal;
    if (columns->probe)
        return {static_cast<Expr*>(linitial(clause->args)),
                term.encoding,
                left,
                ordered,
                ordered,
                term.probe_part};
    return {
        static_cast<Expr*>(lsecond(clause->args)), term.encoding, right, ordered, ordered, term.build_part};
}

bool is_same_key(const Key& a, const Key& b) {
    return a.encoding == b.encoding && a.encoding != KeyEncoding::Hash64 &&
           a.declared_type == b.declared_type && a.part == b.part && equal(a.expression, b.expression);
}

// The column for a key; the same keys share one. clause: where the key is a hash, the one it is for.
uint16_t key_column(Collected* columns, const Key& key, const OpExpr* clause) {
    for (int i = 0; i < columns->key_columns; i++)
        if (is_same_key(columns->keys[i], key)) return static_cast<uint16_t>(i);
    int number = columns->key_columns++;
    columns->keys[number] = key;
    InputColumn* column = &columns->side->writer.columns[number];
    column->spec = columns->specs[number] = column_of(key.encoding);
    init_key_column(columns, column, key, clause);
    return static_cast<uint16_t>(number);
}

void add_terms(Collected* probe, Collected* build, List* clauses, const PlanTerm* plan_terms, Term* terms) {
    ListCell* cell;
    foreach (cell, clauses) {
        int i = foreach_current_index(cell);
        auto* clause = lfirst_node(OpExpr, cell);
        terms[i].probe_column = key_column(probe, key_of(probe, clause, plan_terms[i]), clause);
        terms[i].build_column = key_column(build, key_of(build, clause, plan_terms[i]), clause);
        terms[i].comparison = plan_terms[i].comparison;
    }
}

void add_keys(Collected* probe, Collected* build, const JoinStage* stage) {
    const StagePlan* plan = stage->plan;
    JoinSpec* spec = stage->spec;
    const PlanTerm* terms = plan->terms;
    add_terms(probe, build, exprs_of(stage, kEqualityExprs), terms, spec->equality);
    probe->side->writer.equality_columns = probe->key_columns;
    build->side->writer.equality_columns = build->key_columns;
    terms += plan->equalities;
    add_terms(probe, build, exprs_of(stage, kRangeExprs), terms, spec->range);
    terms += plan->ranges;
    add_terms(probe, build, exprs_of(stage, kFilterExprs), terms, spec->filter);
}

// The columns of the values that the filter program reads.
void add_values(Collected* columns, List* expressions, const PlanValues* values, uint16_t* numbers) {
    for (int i = 0; i < values->count; i++) {
        auto* expression = static_cast<Expr*>(list_nth(expressions, i));
        const PlanValue& value = values->value[i];
        numbers[i] = key_column(
            columns, {expression, value.encoding, value.type, false, true, KeyPart::Value}, nullptr);
    }
}

// The filter program with numbers of columns for those of values.
void add_program(Collected* probe, Collected* build, const JoinStage* stage) {
    const StagePlan* plan = stage->plan;
    FilterProgram* program = &stage->spec->program;
    uint16_t probe_columns[kMaxPlanValues];
    uint16_t build_columns[kMaxPlanValues];
    add_values(probe, exprs_of(stage, kProbeValueExprs), &plan->probe_values, probe_columns);
    add_values(build, exprs_of(stage, kBuildValueExprs), &plan->build_values, build_columns);
    *program = plan->program;
    for (int i = 0; i < program->steps; i++) {
        FilterStep* step = &program->step[i];
        if (!has_source(step->opcode)) continue;
        if (step->source == FilterSource::Probe) step->operand = probe_columns[step->operand];
        if (step->source == FilterSource::Build) step->operand = build_columns[step->operand];
    }
}

// Whether a key column's bytes are the very value of its attribute.
bool is_exact(KeyEncoding encoding) {
    switch (encoding) {
        case KeyEncoding::Float32:
        case KeyEncoding::Float64:
        case KeyEncoding::Hash64:
        case KeyEncoding::DateTimestamp:
            return false;
        default:
            return !is_bound(encoding) && column_of(encoding).type != ColumnType::Bytes;
    }
}

// A key column that holds the attribute, so that it need not be sent a second time; -1: none.
int column_that_holds(const Collected* columns, Form_pg_attribute attribute) {
    for (int i = 0; i < columns->key_columns; i++) {
        const InputColumn* column = &columns->side->writer.columns[i];
        if (column->attribute == attribute->attnum && !column->shift && is_exact(columns->keys[i].encoding) &&
            fixed_width(column->spec.type) == static_cast<uint32_t>(attribute->attlen))
            return i;
    }
    return -1;
}

// Adds the columns that results have of a side. list: their numbers, of those the spec gives back; first:
// which column of results the first of them is. Returns which column of results each attribute is.
int* add_results(Collected* columns, const Bitmapset* emitted, int first, uint16_t* list, uint16_t* count) {
    Side* side = columns->side;
    TupleDesc desc = ExecGetResultType(side->plan);
    auto* result_of = zeroed<int>(desc->natts + 1);
    for (int member = -1; (member = bms_next_member(emitted, member)) >= 0;) {
        Form_pg_attribute attribute = TupleDescAttr(desc, member - 1);
        int number = column_that_holds(columns, attribute);
        if (number < 0) {
            number = side->writer.column_count++;
            init_output_column(&side->writer.columns[number], attribute);
            columns->specs[number] = side->writer.columns[number].spec;
            side_want(side, attribute->attnum);
        }
        result_of[member - 1] = first + *count;
        list[(*count)++] = static_cast<uint16_t>(number);
    }
    return result_of;
}

Collected collect(GpuJoinState* state, JoinStage* stage, Side* side, bool probe, int most_columns) {
    Collected columns = {
        state, stage, side, probe, probe ? stage->spec->probe : stage->spec->build, unset<Key>(most_columns),
        0};
    side->writer.columns = zeroed<InputColumn>(most_columns);
    side->writer.buffers = zeroed<ColumnBuffers>(most_columns);
    side->writer.context = CreateExprContext(state->css.ss.ps.state);
    return columns;
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
    spec->order = state->probe.carries ? ResultOrder::Any : ResultOrder::Ascending;
    spec->names_probe_rows = !state->probe.carries;
    spec->client_decides = must_decide(stage);
    spec->equalities = static_cast<uint16_t>(plan->equalities);
    spec->ranges = static_cast<uint16_t>(plan->ranges);
    spec->filters = static_cast<uint16_t>(plan->filters);
    spec->estimated_probe_rows = row_estimate(state->plan.estimated_probe_rows);
}

}  // namespace

bool carries(const GpuJoinState* state) {
    const JoinStage* stage = only_stage(state);
    int emitted = bms_num_members(state->probe.emitted);
    int limit = kMaxColumns;
    return state->plan.may_carry && !rows_of(stage->plan->kind).scans_build() && !must_decide(stage) &&
           term_count(stage->plan) + stage->plan->probe_values.count + emitted <= limit &&
           bms_num_members(stage->emitted) + emitted <= limit;
}

void build_spec(GpuJoinState* state, JoinStage* stage) {
    const StagePlan* plan = stage->plan;
    ProbeInput* input = &state->probe;
    int most_probe = term_count(plan) + plan->probe_values.count + bms_num_members(input->emitted);
    int most_build = term_count(plan) + plan->build_values.count + bms_num_members(stage->emitted);
    if (most_build > static_cast<int>(kMaxColumns))
        ereport(ERROR, errcode(ERRCODE_TOO_MANY_COLUMNS),
                errmsg("a GPU Join can send at most %u columns of one input", kMaxColumns));
    JoinSpec* spec = stage->spec = zeroed<JoinSpec>();
    set_facts(state, stage);
    Collected probe = collect(state, stage, &input->side, true, most_probe + 1);
    Collected build = collect(state, stage, &stage->build, false, most_build + 1);
    add_keys(&probe, &build, stage);
    add_program(&probe, &build, stage);
    input->side.writer.column_count = probe.key_columns;
    stage->build.writer.column_count = build.key_columns;
    stage->result_of = add_results(&build, stage->emitted, 0, spec->output, &spec->outputs);
    if (input->carries)
        input->result_of = add_results(&probe, input->emitted, spec->outputs, spec->carry, &spec->carried);
    spec->probe_columns = static_cast<uint16_t>(input->side.writer.column_count);
    spec->build_columns = static_cast<uint16_t>(stage->build.writer.column_count);
    state->fragment = unset<FragmentSpec>();
    state->fragment_stages = unset<StageSpec>();
    make_plain_fragment(*spec, state->fragment, state->fragment_stages);
}

}  // namespace gpujoin
