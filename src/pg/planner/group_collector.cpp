// See group_collector.h.
#include "pg/planner/group_collector.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/error_free.h"
#include "pg/overflow.h"
#include "pg/planner/chains.h"
#include "pg/planner/escaped_arguments.h"
#include "pg/settings.h"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

// What an aggregate of core's is here.
struct KnownAggregate {
    Oid function;
    AggregateFunction part;  // states of more than one number have a count too
    StateForm form;
    Oid argument;
};

namespace {

constexpr KnownAggregate kKnownAggregates[] = {
    {F_SUM_INT2, AggregateFunction::Sum, StateForm::Bigint, INT2OID},
    {F_SUM_INT4, AggregateFunction::Sum, StateForm::Bigint, INT4OID},
    {F_SUM_INT8, AggregateFunction::Sum, StateForm::NumericState, INT8OID},
    {F_AVG_INT2, AggregateFunction::Sum, StateForm::CountAndSum, INT2OID},
    {F_AVG_INT4, AggregateFunction::Sum, StateForm::CountAndSum, INT4OID},
    {F_AVG_INT8, AggregateFunction::Sum, StateForm::NumericState, INT8OID},
    {F_SUM_NUMERIC, AggregateFunction::Sum, StateForm::DecimalState, NUMERICOID},
    {F_AVG_NUMERIC, AggregateFunction::Sum, StateForm::DecimalState, NUMERICOID},
    {F_STDDEV_INT2, AggregateFunction::Sum, StateForm::SquaresState, INT2OID},
    {F_STDDEV_INT4, AggregateFunction::Sum, StateForm::SquaresState, INT4OID},
    {F_STDDEV_SAMP_INT2, AggregateFunction::Sum, StateForm::SquaresState, INT2OID},
    {F_STDDEV_SAMP_INT4, AggregateFunction::Sum, StateForm::SquaresState, INT4OID},
    {F_STDDEV_POP_INT2, AggregateFunction::Sum, StateForm::SquaresState, INT2OID},
    {F_STDDEV_POP_INT4, AggregateFunction::Sum, StateForm::SquaresState, INT4OID},
    {F_VARIANCE_INT2, AggregateFunction::Sum, StateForm::SquaresState, INT2OID},
    {F_VARIANCE_INT4, AggregateFunction::Sum, StateForm::SquaresState, INT4OID},
    {F_VAR_SAMP_INT2, AggregateFunction::Sum, StateForm::SquaresState, INT2OID},
    {F_VAR_SAMP_INT4, AggregateFunction::Sum, StateForm::SquaresState, INT4OID},
    {F_VAR_POP_INT2, AggregateFunction::Sum, StateForm::SquaresState, INT2OID},
    {F_VAR_POP_INT4, AggregateFunction::Sum, StateForm::SquaresState, INT4OID},
    {F_SUM_FLOAT8, AggregateFunction::Sum, StateForm::Number, FLOAT8OID},
    {F_AVG_FLOAT4, AggregateFunction::Sum, StateForm::FloatAverage, FLOAT4OID},
    {F_AVG_FLOAT8, AggregateFunction::Sum, StateForm::FloatAverage, FLOAT8OID},
    {F_BOOL_AND, AggregateFunction::Minimum, StateForm::Number, BOOLOID},
    {F_EVERY, AggregateFunction::Minimum, StateForm::Number, BOOLOID},
    {F_BOOL_OR, AggregateFunction::Maximum, StateForm::Number, BOOLOID},
    {F_MIN_NUMERIC, AggregateFunction::Minimum, StateForm::Decimal, NUMERICOID},
    {F_MAX_NUMERIC, AggregateFunction::Maximum, StateForm::Decimal, NUMERICOID},
    {F_MIN_INT2, AggregateFunction::Minimum, StateForm::Number, INT2OID},
    {F_MIN_INT4, AggregateFunction::Minimum, StateForm::Number, INT4OID},
    {F_MIN_INT8, AggregateFunction::Minimum, StateForm::Number, INT8OID},
    {F_MIN_OID, AggregateFunction::Minimum, StateForm::Number, OIDOID},
    {F_MIN_FLOAT4, AggregateFunction::Minimum, StateForm::Single, FLOAT4OID},
    {F_MIN_FLOAT8, AggregateFunction::Minimum, StateForm::Number, FLOAT8OID},
    {F_MIN_DATE, AggregateFunction::Minimum, StateForm::Number, DATEOID},
    {F_MIN_TIME, AggregateFunction::Minimum, StateForm::Number, TIMEOID},
    {F_MIN_TIMESTAMP, AggregateFunction::Minimum, StateForm::Number, TIMESTAMPOID},
    {F_MIN_TIMESTAMPTZ, AggregateFunction::Minimum, StateForm::Number, TIMESTAMPTZOID},
    {F_MAX_INT2, AggregateFunction::Maximum, StateForm::Number, INT2OID},
    {F_MAX_INT4, AggregateFunction::Maximum, StateForm::Number, INT4OID},
    {F_MAX_INT8, AggregateFunction::Maximum, StateForm::Number, INT8OID},
    {F_MAX_OID, AggregateFunction::Maximum, StateForm::Number, OIDOID},
    {F_MAX_FLOAT4, AggregateFunction::Maximum, StateForm::Single, FLOAT4OID},
    {F_MAX_FLOAT8, AggregateFunction::Maximum, StateForm::Number, FLOAT8OID},
    {F_MAX_DATE, AggregateFunction::Maximum, StateForm::Number, DATEOID},
    {F_MAX_TIME, AggregateFunction::Maximum, StateForm::Number, TIMEOID},
    {F_MAX_TIMESTAMP, AggregateFunction::Maximum, StateForm::Number, TIMESTAMPOID},
    {F_MAX_TIMESTAMPTZ, AggregateFunction::Maximum, StateForm::Number, TIMESTAMPTZOID},
};

constexpr Oid kBigintTimes = 686;  // bigint * bigint
constexpr Oid kFloatTimes = 594;   // float8 * float8

// Sums of floats depend on the order of rows, which is not core's.
bool is_sum_of_floats(const KnownAggregate& known) {
    return known.part == AggregateFunction::Sum &&
           (known.argument == FLOAT8OID || known.argument == FLOAT4OID);
}

const KnownAggregate* find_aggregate(Oid function) {
    for (const KnownAggregate& known : kKnownAggregates)
        if (known.function == function) return &known;
    return nullptr;
}

bool is_unwanted(const KnownAggregate& known) {
    return is_sum_of_floats(known) && !setting_float_aggregates;
}

bool has_count(const KnownAggregate* known) {
    return known->part == AggregateFunction::Sum && known->form != StateForm::Bigint &&
           known->form != StateForm::Number;
}

Const* float_constant(float8 value) {
    return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(value), Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

Expr* float_product(Expr* left, float8 right) {
    Expr* product = make_opclause(kFloatTimes, FLOAT8OID, false, left,
                                  reinterpret_cast<Expr*>(float_constant(right)), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr*>(product));
    return product;
}

// The same value, from programs that leave it undecided where its square could not be added up ten billion
// times, so that PostgreSQL takes the row: for an average core adds up squares of differences, and has an
// error where these overflow. Of two powers of two, only the first product may be too large, from 1.9e140 on,
// and both are exact. Sums have the same, since averages of the same argument share them.
Node* with_finite_squares(Node* argument) {
    Expr* larger = float_product(reinterpret_cast<Expr*>(argument), 0x1p558);
    return reinterpret_cast<Node*>(float_product(larger, 0x1p-558));
}

Expr* both(Expr* condition, Expr* other) {
    return condition ? make_andclause(list_make2(condition, other)) : other;
}

bool is_of_one_input(const JoinSides& sides, Node* value) {
    int child;
    return find_child(sides.root, sides.chain, value, &child);
}

bool is_null_constant(const Expr* expression) {
    return !expression || (IsA(expression, Const) && reinterpret_cast<const Const*>(expression)->constisnull);
}

// An argument that is NULL unless a condition holds: aggregates pass over NULL, so that the condition is a
// filter. (Other arguments than NULL have to be evaluated where it holds alone, as those of a CASE.)
void take_condition_out(Node** argument, Expr** condition) {
    if (!IsA(*argument, CaseExpr)) return;
    auto* choice = reinterpret_cast<CaseExpr*>(*argument);
    if (choice->arg || list_length(choice->args) != 1 || !is_null_constant(choice->defresult)) return;
    const CaseWhen* when = linitial_node(CaseWhen, choice->args);
    *argument = reinterpret_cast<Node*>(when->result);
    *condition = both(*condition, when->expr);
}

Expr* is_true(Expr* condition) {
    auto* test = makeNode(BooleanTest);
    test->arg = condition;
    test->booltesttype = IS_TRUE;
    test->location = -1;
    return reinterpret_cast<Expr*>(test);
}

// What PostgreSQL tests of a row that it counts, each only where those before it are true, as core evaluates
// an argument. (An AND of them alone goes on after NULL, to what may fail.)
Expr* tests_in_turn(const Aggref* aggref, Expr* counted) {
    Expr* taken_out = nullptr;
    if (aggref->args != NIL) {
        auto* argument = reinterpret_cast<Node*>(linitial_node(TargetEntry, aggref->args)->expr);
        take_condition_out(&argument, &taken_out);
    }
    List* tests = NIL;
    for (Expr* condition : {aggref->aggfilter, taken_out})
        if (condition) tests = lappend(tests, is_true(condition));
    return make_ands_explicit(counted ? lappend(tests, counted) : tests);
}

// A column of type character(n) of a table, whose values have all their blanks: none that has children, of
// which one may be foreign.
bool is_padded_column(PlannerInfo* root, const Node* expression) {
    if (!IsA(expression, Var)) return false;
    const auto* column = reinterpret_cast<const Var*>(expression);
    if (column->varlevelsup != 0 || column->varattno <= 0 || column->vartypmod < int32{VARHDRSZ})
        return false;
    const RangeTblEntry* entry = planner_rt_fetch(column->varno, root);
    return entry->rtekind == RTE_RELATION && !entry->inh && entry->relkind != RELKIND_FOREIGN_TABLE &&
           entry->relkind != RELKIND_VIEW;
}

// Whether an expression's value can be made of the key that it is encoded as.
bool gives_value(PlannerInfo* root, KeyEncoding encoding, const Node* expression) {
    const int length = get_typlen(exprType(expression));
    if (encoding == KeyEncoding::Text || encoding == KeyEncoding::Bytea) return length == -1;
    return holds_value(encoding, length) ||
           (encoding == KeyEncoding::Bpchar && is_padded_column(root, expression));
}

}  // namespace

Reason reason_against(const Node* expression) {
    if (!IsA(expression, Aggref)) return Reason::KeyExpression;
    const Oid function = reinterpret_cast<const Aggref*>(expression)->aggfnoid;
    const KnownAggregate* known = find_aggregate(function);
    if (known && is_unwanted(*known)) return Reason::FloatAggregatesOff;
    return known || function == F_COUNT_ || function == F_COUNT_ANY ? Reason::Argument
                                                                    : Reason::UnknownAggregate;
}

GroupCollector::GroupCollector(PlannerInfo* root, const Chain* chain, GroupsInput* groups)
    : root_(root), chain_(chain), plan_(&groups->plan), exprs_(groups->exprs) {
    sides_ = {root, JOIN_INNER, chain->joinrel->relids, chain->joinrel->relids, nullptr, is_of_one_input,
              chain};
}

bool GroupCollector::has_columns(Node* expression) {
    return IsA(expression, Const) || !bms_is_empty(pull_varnos(root_, expression));
}

// What can be computed for every row of an input, whether or not it finds partners.
bool GroupCollector::is_of_one_child(Node* expression) {
    int child;
    return find_child(root_, chain_, expression, &child) && !contain_volatile_functions(expression) &&
           !contain_subplans(expression) &&
           (is_given(expression) || (cannot_fail(expression) && !may_overflow(expression)));
}

// Computed by an input that there is no join with, for the rows that core would compute it for.
bool GroupCollector::is_given(const Node* expression) const {
    return chain_->length == 0 && list_member(chain_->probe->pathtarget->exprs, expression);
}

// A column that an input without a join does not give cannot be had of it.
bool GroupCollector::may_be_given(const Node* expression) const {
    return chain_->length > 0 || !IsA(expression, Var) || is_given(expression);
}

bool GroupCollector::add_state(StateForm form, int column, int count_column) {
    if (plan_->states == kMaxGroupStates) return false;
    plan_->state[plan_->states++] = {0, form, column,     count_column, count_column,
                                     0, 0,    InvalidOid, InvalidOid};
    return true;
}

bool GroupCollector::add_part(AggregateFunction function, int value, int filter, int* column) {
    AggregateSpec part = {function, 0, static_cast<uint16_t>(value), static_cast<uint16_t>(filter)};
    int number = 0;
    while (number < plan_->aggregates && memcmp(&plan_->aggregate[number], &part, sizeof(part)) != 0)
        number++;
    if (number == int{kMaxAggregates}) return false;
    plan_->aggregate[number] = part;
    plan_->aggregates = std::max(plan_->aggregates, number + 1);
    *column = plan_->keys + number;
    return true;
}

bool GroupCollector::add_key(const SortGroupClause* clause, Node* expression) {
    OperatorEncoding found;
    if (plan_->keys == int{kMaxGroupKeys} || !is_of_one_child(expression) || !has_columns(expression) ||
        !find_operator_encoding(clause->eqop, exprCollation(expression), &found))
        return false;
    plan_->key_encoding[plan_->keys] = found.encoding;
    plan_->key_type[plan_->keys++] = found.left_type;
    exprs_[kKeyExprs] = lappend(exprs_[kKeyExprs], expression);
    return true;
}

bool GroupCollector::add_any(Node* expression) {
    int key = 0;
    ListCell* cell;
    foreach (cell, exprs_[kKeyExprs]) {
        if (equal(lfirst(cell), expression) && gives_value(root_, plan_->key_encoding[key], expression))
            return add_state(StateForm::Column, key);
        key++;
    }
    if (!is_of_one_child(expression) || !has_columns(expression) || !may_be_given(expression)) return false;
    int column;
    if (!add_part(AggregateFunction::Any, plan_->any_count, kNoNumber, &column)) return false;
    exprs_[kAnyExprs] = lappend(exprs_[kAnyExprs], expression);
    plan_->any_count++;
    return add_state(StateForm::Column, column);
}

// Takes back no values that only a refused program has: the whole is refused then.
bool GroupCollector::add_program(JoinFilter* filter, int* number) {
    values_ = filter->probe;
    for (int i = 0; i < filter->program.steps; i++) {
        const FilterStep& step = filter->program.step[i];
        bool computes = is_arithmetic(step.opcode) || step.opcode == FilterOpcode::Check;
        // Infinite ones are no error to PostgreSQL.
        if (computes && (step.type == FilterType::Date || step.type == FilterType::Timestamp)) return false;
    }
    for (*number = 0; *number < plan_->programs; (*number)++)
        if (memcmp(list_nth(programs_, *number), &filter->program, sizeof(FilterProgram)) == 0) return true;
    if (*number == int{kMaxValues}) return false;
    auto* copy = unset<FilterProgram>();
    *copy = filter->program;
    programs_ = lappend(programs_, copy);
    plan_->programs++;
    return true;
}

bool GroupCollector::add_number(Node* argument, Oid type, int* program, DecimalScale* scale) {
    JoinFilter filter = {};
    filter.probe = values_;
    bool done = type == NUMERICOID ? add_decimal(&filter, argument, sides_, scale)
                : type == BOOLOID  ? add_number_of_truth(&filter, argument, sides_)
                                   : gpujoin::add_number(&filter, argument, type, sides_);
    return done && add_program(&filter, program);
}

bool GroupCollector::add_filter(Expr* condition, int* program) {
    *program = kNoNumber;
    if (!condition) return true;
    JoinFilter filter = {};
    filter.probe = values_;
    return add_row_condition(&filter, condition, sides_) && add_program(&filter, program);
}

// count(x) counts the rows in which x is not NULL. For PostgreSQL, too, it is that test which x is read for:
// of most types there are no values that could come back.
bool GroupCollector::add_count(const Aggref* aggref, Node* argument, Expr* condition) {
    Expr* counted = nullptr;
    if (aggref->aggfnoid == F_COUNT_ANY) {
        auto* test = makeNode(NullTest);
        test->arg = reinterpret_cast<Expr*>(argument);
        test->nulltesttype = IS_NOT_NULL;
        test->location = -1;
        if (type_is_rowtype(exprType(argument))) return false;
        counted = reinterpret_cast<Expr*>(test);
        condition = both(condition, counted);
    }
    int filter, column;
    return add_filter(condition, &filter) && add_part(AggregateFunction::Count, kNoNumber, filter, &column) &&
           add_state(StateForm::Column, column) && note_arguments(tests_in_turn(aggref, counted), nullptr);
}

bool GroupCollector::add_known(const Aggref* aggref, Node* argument, Expr* condition) {
    const KnownAggregate* known = find_aggregate(aggref->aggfnoid);
    if (!known || is_unwanted(*known)) return false;
    int value, filter, column, count = 0;
    DecimalScale scale = {};
    if (known->part == AggregateFunction::Sum && known->argument == FLOAT8OID)
        argument = with_finite_squares(argument);
    if (!add_number(argument, known->argument, &value, &scale) || !add_filter(condition, &filter) ||
        !add_part(known->part, value, filter, &column))
        return false;
    if (has_count(known) && !add_part(AggregateFunction::Count, value, filter, &count)) return false;
    return add_state(known->form, column, count) && add_scale(known, scale, value, condition) &&
           (known->form != StateForm::SquaresState || add_squares(argument, known->argument, filter));
}

// Of the last state, whose values these are. The squares of integers are bigints.
bool GroupCollector::add_squares(Node* argument, Oid type, int filter) {
    const Oid widen = type == INT2OID ? F_INT8_INT2 : F_INT8_INT4;
    Expr* wide = reinterpret_cast<Expr*>(
        makeFuncExpr(widen, INT8OID, list_make1(argument), InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST));
    Expr* square = make_opclause(kBigintTimes, INT8OID, false, wide, wide, InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr*>(square));
    int value;
    DecimalScale scale = {};
    return add_number(reinterpret_cast<Node*>(square), INT8OID, &value, &scale) &&
           add_part(AggregateFunction::Sum, value, filter, &plan_->state[plan_->states - 1].third_column);
}

// What the last state is to know of its values' scale. Where some have a lower one it goes by how many have
// not.
bool GroupCollector::add_scale(const KnownAggregate* known, const DecimalScale& scale, int value,
                               Expr* condition) {
    EntryState* state = &plan_->state[plan_->states - 1];
    state->scale = state->lower_scale = scale.scale;
    state->third_column = state->count_column;
    if (!scale.has_scale) return true;
    if (known->form != StateForm::DecimalState) return false;
    int filter;
    state->lower_scale = scale.lower;
    return add_filter(both(condition, scale.has_scale), &filter) &&
           add_part(AggregateFunction::Count, value, filter, &state->third_column);
}

// The condition, and what is aggregated; nullptr: any row, and any value. Once programs have all that they
// read of both.
bool GroupCollector::note_arguments(Expr* condition, Expr* argument) {
    auto* truth = reinterpret_cast<Expr*>(makeBoolConst(true, false));
    for (Expr* part : {condition ? condition : truth, argument ? argument : truth}) {
        Node* over = over_values(reinterpret_cast<Node*>(part), values_.expressions);
        if (!over) return false;
        exprs_[kArgumentExprs] = lappend(exprs_[kArgumentExprs], over);
    }
    return true;
}

// Says of the last state whose it is.
void GroupCollector::name_state(const Aggref* aggref) {
    plan_->state[plan_->states - 1].aggregate = aggref->aggfnoid;
    plan_->state[plan_->states - 1].collation = aggref->inputcollid;
}

bool GroupCollector::add_aggregate(Aggref* aggref) {
    if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
        aggref->aggvariadic || aggref->agglevelsup != 0)
        return false;
    Expr* argument = aggref->args != NIL ? linitial_node(TargetEntry, aggref->args)->expr : nullptr;
    auto* node = reinterpret_cast<Node*>(argument);
    Expr* condition = aggref->aggfilter;
    if (node) take_condition_out(&node, &condition);
    bool is_count = aggref->aggfnoid == F_COUNT_ || aggref->aggfnoid == F_COUNT_ANY;
    if (is_count ? !add_count(aggref, node, condition)
                 : !add_known(aggref, node, condition) || !note_arguments(aggref->aggfilter, argument))
        return false;
    name_state(aggref);
    return true;
}

// Has no arguments: where rows come back, groups are not complete, and core's plan counts
// (distinct_counts.h).
bool GroupCollector::add_presence(Aggref* count) {
    const Expr* value = linitial_node(TargetEntry, count->args)->expr;
    int key = 0;
    ListCell* cell;
    foreach (cell, exprs_[kKeyExprs]) {
        if (equal(lfirst(cell), value)) break;
        key++;
    }
    if (key == plan_->keys || !add_state(StateForm::Presence, key)) return false;
    name_state(count);
    return note_arguments(nullptr, nullptr);
}

bool GroupCollector::finish() {
    plan_->values = values_.values;
    exprs_[kValueExprs] = values_.expressions;
    plan_->program = unset<FilterProgram>(std::max(plan_->programs, 1));
    for (int i = 0; i < plan_->programs; i++)
        plan_->program[i] = *static_cast<FilterProgram*>(list_nth(programs_, i));
    ListCell* cell;
    foreach (cell, values_.expressions)
        if (!is_of_one_child(static_cast<Node*>(lfirst(cell)))) return false;
    return true;
}

}  // namespace gpujoin
