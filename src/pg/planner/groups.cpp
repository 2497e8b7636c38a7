// See groups.h. The hook comes when core has made its own paths for the grouping; ours compete with them.
#include "pg/planner/groups.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/kept_expression.h"
#include "pg/overflow.h"
#include "pg/planner/chains.h"
#include "pg/planner/complete_groups.h"
#include "pg/error_free.h"
#include "pg/planner/filters.h"
#include "pg/planner/kept.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/refused_groups.h"
#include "pg/planner/rivals.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
}

namespace gpujoin {
namespace {

create_upper_paths_hook_type previous_hook;

// Below so many rows of an input that is no chain there is nothing to gain.
constexpr double kFewestSourceRows = 10000;
// Core reads the same rows, and its aggregation is a part of that plan: what we do beyond fetching their
// pages must be cheaper by more than costs are wrong, and groups, where they are made twice, are charged for.
constexpr double kClearlyCheaper = 0.85;
constexpr double kCostOfGroup = 0.08;

// By how much the costs of reading a table's pages directly are too high, at least.
constexpr double kDirectRead = 1.5;

// What one call of the hook is about.
struct GroupCall {
    PlannerInfo* root;
    RelOptInfo* grouped;
    const GroupPathExtraData* extra;
    List* clause;        // of SortGroupClause
    PathTarget* target;  // of partial groups
    PathTarget* final;   // the same, with what comes of them
    double groups;
    EngineCosts engine;
    Verdict* verdict;  // nullptr unless it is asked for
};

// What an aggregate of core's is here.
struct KnownAggregate {
    Oid function;
    AggregateFunction part;  // states of more than one number have a count too
    StateForm form;
    Oid argument;
};

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
    {F_BOOL_AND, AggregateFunction::Minimum, StateForm::Number, BOOLOID},
    {F_EVERY, AggregateFunction::Minimum, StateForm::Number, BOOLOID},
    {F_BOOL_OR, AggregateFunction::Maximum, StateForm::Number, BOOLOID},
    {F_MIN_NUMERIC, AggregateFunction::Minimum, StateForm::Decimal, NUMERICOID},
    {F_MAX_NUMERIC, AggregateFunction::Maximum, StateForm::Decimal, NUMERICOID},
    {F_MIN_INT2, AggregateFunction::Minimum, StateForm::Number, INT2OID},
    {F_MIN_INT4, AggregateFunction::Minimum, StateForm::Number, INT4OID},
    {F_MIN_INT8, AggregateFunction::Minimum, StateForm::Number, INT8OID},
    {F_MIN_OID, AggregateFunction::Minimum, StateForm::Number, OIDOID},
    {F_MIN_DATE, AggregateFunction::Minimum, StateForm::Number, DATEOID},
    {F_MIN_TIME, AggregateFunction::Minimum, StateForm::Number, TIMEOID},
    {F_MIN_TIMESTAMP, AggregateFunction::Minimum, StateForm::Number, TIMESTAMPOID},
    {F_MIN_TIMESTAMPTZ, AggregateFunction::Minimum, StateForm::Number, TIMESTAMPTZOID},
    {F_MAX_INT2, AggregateFunction::Maximum, StateForm::Number, INT2OID},
    {F_MAX_INT4, AggregateFunction::Maximum, StateForm::Number, INT4OID},
    {F_MAX_INT8, AggregateFunction::Maximum, StateForm::Number, INT8OID},
    {F_MAX_OID, AggregateFunction::Maximum, StateForm::Number, OIDOID},
    {F_MAX_DATE, AggregateFunction::Maximum, StateForm::Number, DATEOID},
    {F_MAX_TIME, AggregateFunction::Maximum, StateForm::Number, TIMEOID},
    {F_MAX_TIMESTAMP, AggregateFunction::Maximum, StateForm::Number, TIMESTAMPOID},
    {F_MAX_TIMESTAMPTZ, AggregateFunction::Maximum, StateForm::Number, TIMESTAMPTZOID},
};

constexpr Oid kBigintTimes = 686;  // bigint * bigint

const KnownAggregate* find_aggregate(Oid function) {
    for (const KnownAggregate& known : kKnownAggregates)
        if (known.function == function) return &known;
    return nullptr;
}

bool is_of_one_input(const JoinSides& sides, Node* value) {
    int child;
    return find_child(sides.root, sides.chain, value, &child);
}

// Collects what a chain's groups consist of. Each function is false where that cannot be done here.
class Collector {
  public:
    Collector(PlannerInfo* root, const Chain* chain, GroupsInput* groups)
        : root_(root), chain_(chain), plan_(&groups->plan), exprs_(groups->exprs) {
        sides_ = {root, JOIN_INNER, chain->joinrel->relids, chain->joinrel->relids, nullptr, is_of_one_input,
                  chain};
    }

    bool add_key(const SortGroupClause* clause, Node* expression);
    bool add_any(Node* expression);
    bool add_aggregate(Aggref* aggref);
    bool finish();

  private:
    bool is_of_one_child(Node* expression);
    // Or is a constant: what else has no columns could not be told from the value that groups have.
    bool has_columns(Node* expression) {
        return IsA(expression, Const) || !bms_is_empty(pull_varnos(root_, expression));
    }
    bool add_state(StateForm form, int column, int count_column = 0);
    bool add_part(AggregateFunction function, int value, int filter, int* column);
    bool add_number(Node* argument, Oid type, int* program, DecimalScale* scale);
    bool add_scale(const KnownAggregate* known, const DecimalScale& scale, int value, Expr* condition);
    bool add_filter(Expr* condition, int* program);
    bool add_program(JoinFilter* filter, int* number);
    bool add_known(const Aggref* aggref, Node* argument, Expr* condition);
    bool add_squares(Node* argument, Oid type, int filter);
    bool add_count(const Aggref* aggref, Node* argument, Expr* condition);

    PlannerInfo* root_;
    const Chain* chain_;
    GroupsPlan* plan_;
    List** exprs_;
    JoinSides sides_;
    FilterValues values_ = {};
    List* programs_ = NIL;  // of FilterProgram
};

// What can be computed for every row of an input, whether or not it finds partners.
bool Collector::is_of_one_child(Node* expression) {
    int child;
    return find_child(root_, chain_, expression, &child) && !contain_volatile_functions(expression) &&
           !contain_subplans(expression) && cannot_fail(expression) && !may_overflow(expression);
}

bool Collector::add_state(StateForm form, int column, int count_column) {
    if (plan_->states == kMaxGroupStates) return false;
    plan_->state[plan_->states++] = {0, form, column,     count_column, count_column,
                                     0, 0,    InvalidOid, InvalidOid};
    return true;
}

bool Collector::add_part(AggregateFunction function, int value, int filter, int* column) {
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

bool Collector::add_key(const SortGroupClause* clause, Node* expression) {
    OperatorEncoding found;
    if (plan_->keys == int{kMaxGroupKeys} || !is_of_one_child(expression) || !has_columns(expression) ||
        !find_operator_encoding(clause->eqop, exprCollation(expression), &found))
        return false;
    plan_->key_encoding[plan_->keys] = found.encoding;
    plan_->key_type[plan_->keys++] = found.left_type;
    exprs_[kKeyExprs] = lappend(exprs_[kKeyExprs], expression);
    return true;
}

bool Collector::add_any(Node* expression) {
    int key = 0;
    ListCell* cell;
    foreach (cell, exprs_[kKeyExprs]) {
        if (equal(lfirst(cell), expression) &&
            holds_value(plan_->key_encoding[key], get_typlen(exprType(expression))))
            return add_state(StateForm::Column, key);
        key++;
    }
    if (!is_of_one_child(expression) || !has_columns(expression)) return false;
    int column;
    if (!add_part(AggregateFunction::Any, plan_->any_count, kNoNumber, &column)) return false;
    exprs_[kAnyExprs] = lappend(exprs_[kAnyExprs], expression);
    plan_->any_count++;
    return add_state(StateForm::Column, column);
}

// Takes back no values that only a refused program has: the whole is refused then.
bool Collector::add_program(JoinFilter* filter, int* number) {
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

bool Collector::add_number(Node* argument, Oid type, int* program, DecimalScale* scale) {
    JoinFilter filter = {};
    filter.probe = values_;
    bool done = type == NUMERICOID ? add_decimal(&filter, argument, sides_, scale)
                : type == BOOLOID  ? add_number_of_truth(&filter, argument, sides_)
                                   : gpujoin::add_number(&filter, argument, type, sides_);
    return done && add_program(&filter, program);
}

bool Collector::add_filter(Expr* condition, int* program) {
    *program = kNoNumber;
    if (!condition) return true;
    JoinFilter filter = {};
    filter.probe = values_;
    return add_row_condition(&filter, condition, sides_) && add_program(&filter, program);
}

// count(x) counts the rows in which x is not NULL.
bool Collector::add_count(const Aggref* aggref, Node* argument, Expr* condition) {
    if (aggref->aggfnoid == F_COUNT_ANY) {
        auto* test = makeNode(NullTest);
        test->arg = reinterpret_cast<Expr*>(argument);
        test->nulltesttype = IS_NOT_NULL;
        test->location = -1;
        if (type_is_rowtype(exprType(argument))) return false;
        auto* counted = reinterpret_cast<Expr*>(test);
        condition = condition ? make_andclause(list_make2(condition, counted)) : counted;
    }
    int filter, column;
    return add_filter(condition, &filter) && add_part(AggregateFunction::Count, kNoNumber, filter, &column) &&
           add_state(StateForm::Column, column);
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
    *condition = *condition ? make_andclause(list_make2(*condition, when->expr)) : when->expr;
}

bool Collector::add_known(const Aggref* aggref, Node* argument, Expr* condition) {
    const KnownAggregate* known = find_aggregate(aggref->aggfnoid);
    if (!known) return false;
    int value, filter, column, count = 0;
    DecimalScale scale = {};
    if (!add_number(argument, known->argument, &value, &scale) || !add_filter(condition, &filter) ||
        !add_part(known->part, value, filter, &column))
        return false;
    bool counts = known->part == AggregateFunction::Sum && known->form != StateForm::Bigint;
    if (counts && !add_part(AggregateFunction::Count, value, filter, &count)) return false;
    return add_state(known->form, column, count) && add_scale(known, scale, value, condition) &&
           (known->form != StateForm::SquaresState || add_squares(argument, known->argument, filter));
}

// Of the last state, whose values these are. The squares of integers are bigints.
bool Collector::add_squares(Node* argument, Oid type, int filter) {
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
bool Collector::add_scale(const KnownAggregate* known, const DecimalScale& scale, int value,
                          Expr* condition) {
    EntryState* state = &plan_->state[plan_->states - 1];
    state->scale = state->lower_scale = scale.scale;
    state->third_column = state->count_column;
    if (!scale.has_scale) return true;
    if (known->form != StateForm::DecimalState) return false;
    Expr* both = condition ? make_andclause(list_make2(condition, scale.has_scale)) : scale.has_scale;
    int filter;
    state->lower_scale = scale.lower;
    return add_filter(both, &filter) &&
           add_part(AggregateFunction::Count, value, filter, &state->third_column);
}

bool Collector::add_aggregate(Aggref* aggref) {
    if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
        aggref->aggvariadic || aggref->agglevelsup != 0)
        return false;
    auto* truth = reinterpret_cast<Expr*>(makeBoolConst(true, false));
    Expr* argument = aggref->args != NIL ? linitial_node(TargetEntry, aggref->args)->expr : truth;
    Expr* condition = aggref->aggfilter ? aggref->aggfilter : truth;
    exprs_[kArgumentExprs] = lappend(lappend(exprs_[kArgumentExprs], condition), argument);
    auto* node = reinterpret_cast<Node*>(argument);
    condition = aggref->aggfilter;
    take_condition_out(&node, &condition);
    bool is_count = aggref->aggfnoid == F_COUNT_ || aggref->aggfnoid == F_COUNT_ANY;
    if (!(is_count ? add_count(aggref, node, condition) : add_known(aggref, node, condition))) return false;
    plan_->state[plan_->states - 1].aggregate = aggref->aggfnoid;
    plan_->state[plan_->states - 1].collation = aggref->inputcollid;
    return true;
}

bool Collector::finish() {
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

const SortGroupClause* clause_of(const List* clauses, Index reference) {
    ListCell* cell;
    foreach (cell, clauses)
        if (lfirst_node(SortGroupClause, cell)->tleSortGroupRef == reference)
            return lfirst_node(SortGroupClause, cell);
    return nullptr;
}

// What groups have: the expressions that are grouped by, the columns that are used otherwise, and the
// aggregates.
PathTarget* final_target(const GroupCall& call) {
    PathTarget* grouping = call.grouped->reltarget;
    PathTarget* target = create_empty_pathtarget();
    List* others = NIL;
    ListCell* cell;
    foreach (cell, grouping->exprs) {
        auto* expression = static_cast<Expr*>(lfirst(cell));
        Index reference = get_pathtarget_sortgroupref(grouping, foreach_current_index(cell));
        if (reference && clause_of(call.clause, reference))
            add_column_to_pathtarget(target, expression, reference);
        else
            others = lappend(others, expression);
    }
    others = list_concat(others, castNode(List, call.extra->havingQual));
    List* found =
        pull_var_clause(reinterpret_cast<Node*>(others),
                        PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
    add_new_columns_to_pathtarget(target, found);
    return set_pathtarget_cost_width(call.root, target);
}

// As core makes it for itself: the aggregates give their transition states.
PathTarget* partial_target(const GroupCall& call) {
    PathTarget* target = copy_pathtarget(call.final);
    ListCell* cell;
    foreach (cell, target->exprs) {
        if (!IsA(lfirst(cell), Aggref)) continue;
        auto* partial = makeNode(Aggref);
        *partial = *lfirst_node(Aggref, cell);
        mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
        lfirst(cell) = partial;
    }
    return set_pathtarget_cost_width(call.root, target);
}

// Whether it is an aggregate that engines compute, if they can compute its arguments.
bool is_known(const Node* expression) {
    if (!IsA(expression, Aggref)) return false;
    const Oid function = reinterpret_cast<const Aggref*>(expression)->aggfnoid;
    return function == F_COUNT_ || function == F_COUNT_ANY || find_aggregate(function);
}

// nullptr where an engine cannot make these groups.
GroupsInput* collect_groups(const GroupCall& call, const Chain* chain) {
    auto* groups = zeroed<GroupsInput>();
    groups->target = call.target;
    groups->plan.estimated_groups = call.groups;
    Collector collector(call.root, chain, groups);
    int grouped_by = 0;
    ListCell* cell;
    // All keys first: columns of aggregates come behind theirs.
    foreach (cell, call.target->exprs) {
        Index reference = get_pathtarget_sortgroupref(call.target, foreach_current_index(cell));
        if (!reference) continue;
        const SortGroupClause* clause = clause_of(call.clause, reference);
        auto* key = static_cast<Node*>(lfirst(cell));
        if (!collector.add_key(clause, key)) return refuse_key(call.verdict, clause->eqop, key), nullptr;
        grouped_by++;
    }
    if (grouped_by != list_length(call.clause)) return nullptr;
    foreach (cell, call.target->exprs) {
        auto* expression = static_cast<Node*>(lfirst(cell));
        bool done = IsA(expression, Aggref) ? collector.add_aggregate(reinterpret_cast<Aggref*>(expression))
                                            : collector.add_any(expression);
        if (!done) return refuse_entry(call.verdict, expression, is_known(expression)), nullptr;
    }
    if (collector.finish()) return groups;
    refuse_values(call.verdict, call.target->exprs);
    return nullptr;
}

// Whether a value of the probe input may come from kept columns.
bool may_be_kept(Node* expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(expression)->arg);
    return IsA(expression, Var) || may_keep_expression(expression);
}

// Of the values that are read those that are the probe input's, and how much there is to do for a row.
GroupsShape shape_of(const GroupCall& call, const Chain* chain, const GroupsInput* groups) {
    GroupsShape shape = {};
    shape.may_be_kept = true;
    for (GroupExprs which : {kKeyExprs, kValueExprs, kAnyExprs}) {
        ListCell* cell;
        foreach (cell, groups->exprs[which]) {
            int child;
            auto* expression = static_cast<Node*>(lfirst(cell));
            find_child(call.root, chain, expression, &child);
            if (child != kProbeChild) continue;
            shape.may_be_kept = shape.may_be_kept && may_be_kept(expression);
            shape.source.values++;
            shape.source.bytes += get_typavgwidth(exprType(expression), exprTypmod(expression));
        }
    }
    shape.work = 1 + groups->plan.keys + groups->plan.aggregates;
    shape.columns = groups->plan.states;
    shape.groups = clamp_row_est(call.groups / parallel_shares(chain->workers));
    return shape;
}

Path* make_partial_path(const GroupCall& call, const Chain* chain, RelOptInfo* partial_rel) {
    const GroupsInput* groups = collect_groups(call, chain);
    if (!groups) return nullptr;
    GroupsShape shape = shape_of(call, chain, groups);
    JoinEstimate estimate = estimate_groups(chain, shape, call.engine);
    GpuJoinPath* result = make_chain_path(chain);
    Path* path = &result->path.path;
    path->parent = partial_rel;
    path->pathtarget = call.target;
    path->parallel_safe = chain->workers > 0;
    path->rows = shape.groups;
    path->startup_cost = estimate.startup_cost;
    path->total_cost = estimate.total_cost;
    result->groups = groups;
    result->costs = estimate.terms;
    return path;
}

// The relation that partial groups are of; core may have one already.
RelOptInfo* partial_relation(const GroupCall& call) {
    RelOptInfo* rel = fetch_upper_rel(call.root, UPPERREL_PARTIAL_GROUP_AGG, call.grouped->relids);
    if (rel->pathlist == NIL && rel->partial_pathlist == NIL) {
        rel->consider_parallel = call.grouped->consider_parallel;
        rel->reltarget = call.target;
    }
    return rel;
}

// Core's node that makes groups of partial ones, hashed or from sorted input. wins: or it is only asked what
// that costs.
void add_final_paths(const GroupCall& call, Path* partial, bool wins) {
    if (!wins && !call.verdict) return;
    AggClauseCosts costs = {};
    get_agg_clause_costs(call.root, AGGSPLIT_FINAL_DESERIAL, &costs);
    auto add = [&](Path* input, AggStrategy strategy) {
        auto* path = reinterpret_cast<Path*>(create_agg_path(
            call.root, call.grouped, input, call.grouped->reltarget, strategy, AGGSPLIT_FINAL_DESERIAL,
            call.clause, castNode(List, call.extra->havingQual), &costs, call.groups));
        if (call.verdict) note_cost(call.verdict, false, path->startup_cost, path->total_cost);
        if (wins) add_path(call.grouped, path);
    };
    // Not by call.clause, of which nothing may be left: groups of no rows are none.
    if (call.root->parse->groupClause == NIL) return add(partial, AGG_PLAIN);
    if (call.extra->flags & GROUPING_CAN_USE_HASH) add(partial, AGG_HASHED);
    if (!(call.extra->flags & GROUPING_CAN_USE_SORT)) return;
    if (call.root->group_pathkeys != NIL)  // else all keys are constants
        partial = reinterpret_cast<Path*>(
            create_sort_path(call.root, partial->parent, partial, call.root->group_pathkeys, -1.0));
    add(partial, AGG_SORTED);
}

// Many groups that one process gives, and core's node could hash.
bool comes_complete(const GroupCall& call) {
    return call.root->parse->groupClause != NIL && (call.extra->flags & GROUPING_CAN_USE_HASH) &&
           are_many_groups(call.groups);
}

// A copy, for a node that asks for complete groups.
Path* completing(const GpuJoinPath* partial) {
    auto* groups = unset<GroupsInput>();
    *groups = *partial->groups;
    groups->plan.completes = true;
    auto* path = unset<GpuJoinPath>();
    *path = *partial;
    path->groups = groups;
    return &path->path.path;
}

void add_complete_path(const GroupCall& call, const GpuJoinPath* partial) {
    AggClauseCosts costs = {};
    get_agg_clause_costs(call.root, AGGSPLIT_FINAL_DESERIAL, &costs);
    const FinalGroups groups = {call.grouped, call.final, call.clause, castNode(List, call.extra->havingQual),
                                &costs,       call.groups};
    Path* path = make_complete_groups_path(call.root, completing(partial), groups);
    if (call.verdict) note_cost(call.verdict, false, path->startup_cost, path->total_cost);
    add_path(call.grouped, path);
}

// Core's groups of rows that loops give, which may be many more than expected, go where ours cost little
// more.
void displace_loops(const GroupCall& call, const RelOptInfo* input, const Chain* chain, const Path* path) {
    if (chain->risk > 0 || chain->length == 0) return;
    const Cost worth = worth_of_steadiness(input);
    if (worth == 0) return;
    ListCell* cell;
    foreach (cell, call.grouped->pathlist) {
        const auto* other = static_cast<const Path*>(lfirst(cell));
        if (path->total_cost <= other->total_cost + worth && quick_facts_of(other).looping > 0)
            call.grouped->pathlist = foreach_delete_current(call.grouped->pathlist, cell);
    }
}

// What is forced displaces all of core's paths, once there is one.
void make_way(const GroupCall& call, const RelOptInfo* input, const Chain* chain, const Path* path,
              bool* is_done) {
    if (setting_force && !*is_done) call.grouped->pathlist = NIL;
    *is_done = true;
    displace_loops(call, input, chain, path);
}

bool gives_rows_of_gpu_join(const Path* path) {
    if (IsA(path, ProjectionPath))
        return gives_rows_of_gpu_join(reinterpret_cast<const ProjectionPath*>(path)->subpath);
    if (IsA(path, GatherPath))
        return gives_rows_of_gpu_join(reinterpret_cast<const GatherPath*>(path)->subpath);
    return is_gpu_join(path);
}

// Of which few may be left, but that need not be read.
bool has_many_kept_rows(PlannerInfo* root, RelOptInfo* input) {
    return IS_SIMPLE_REL(input) && input->tuples >= kFewestSourceRows && kept_share_of_rel(root, input) > 0;
}

// An input that no chain gives is the source itself. Rows that come out of a join of ours do not go back.
const Chain* source_of(const GroupCall& call, RelOptInfo* input, Path* probe) {
    if (gives_rows_of_gpu_join(probe)) return note_refusal(call.verdict, {Reason::RowsComeBack}), nullptr;
    if (PATH_REQ_OUTER(probe)) return note_refusal(call.verdict, {Reason::Lateral}), nullptr;
    if (!setting_force && probe->rows < kFewestSourceRows && !has_many_kept_rows(call.root, input))
        return refuse_few_rows(call.verdict, probe->rows), nullptr;
    auto* source = zeroed<Chain>();
    source->probe = probe;
    source->joinrel = input;
    source->workers = probe->parallel_workers;
    source->sharing = probe->parallel_workers > 0 ? Sharing::OneBuild : Sharing::Nothing;
    source->costs = estimate_source(call.root, probe, source->workers, call.engine);
    source->costs.terms.cost[kSetUpTerm] += call.engine.setup;
    return source;
}

// All rows of a table are quicker to read off its pages than their costs say: an index that has what is
// wanted may cost less, and core keeps no other path then.
Path* quickest_to_read(const GroupCall& call, RelOptInfo* input) {
    Path* cheapest = cheapest_source_scan(call.root, input);
    bool is_by_index = cheapest->pathtype == T_IndexOnlyScan || cheapest->pathtype == T_IndexScan ||
                       cheapest->pathtype == T_BitmapHeapScan;
    if (!is_by_index || PATH_REQ_OUTER(cheapest)) return cheapest;
    Path* scan = create_seqscan_path(call.root, input, nullptr, 0);
    scan->pathtarget = cheapest->pathtarget;
    bool is_direct = !has_disabled_nodes(scan) && reading_cost(scan) < scan->total_cost;
    return is_direct && reading_cost(scan) < kDirectRead * cheapest->total_cost ? scan : cheapest;
}

const Chain* chain_for(const GroupCall& call, RelOptInfo* input, bool is_partial) {
    const Chain* chain = cheapest_chain(input, is_partial);
    if (chain && (setting_force || !is_left_to_others(call.root, input, chain))) return chain;
    if (!is_partial) return source_of(call, input, quickest_to_read(call, input));
    if (input->partial_pathlist == NIL) return nullptr;
    return source_of(call, input, static_cast<Path*>(linitial(input->partial_pathlist)));
}

// Of a table's pages that are read in their order.
Cost fetching_cost(const Path* path) {
    if (path->pathtype != T_SeqScan) return 0;
    double page_cost;
    get_tablespace_page_costs(path->parent->reltablespace, nullptr, &page_cost);
    return page_cost * path->parent->pages;
}

// input: of the node that makes the groups, for which each costs so much.
bool is_worthwhile(const GroupCall& call, const Chain* chain, const Path* input, double cost_of_group) {
    if (setting_force || chain->length > 0) return true;
    Cost fetching = fetching_cost(chain->probe);
    Cost cost = input->total_cost + cost_of_group * input->rows - fetching * (1 - chain->costs.kept);
    ListCell* cell;
    foreach (cell, call.grouped->pathlist)
        if (cost > kClearlyCheaper * (static_cast<Path*>(lfirst(cell))->total_cost - fetching)) return false;
    return true;
}

void add_serial(const GroupCall& call, RelOptInfo* input, RelOptInfo* partial_rel, bool* has_made_way) {
    const Chain* chain = chain_for(call, input, false);
    Path* path = chain ? make_partial_path(call, chain, partial_rel) : nullptr;
    if (!path) return;
    const bool wins = is_worthwhile(call, chain, path, kCostOfGroup);
    const bool completes = comes_complete(call) && is_worthwhile(call, chain, path, 0);
    if (wins || completes) make_way(call, input, chain, path, has_made_way);
    add_final_paths(call, path, wins);
    if (completes) add_complete_path(call, reinterpret_cast<GpuJoinPath*>(path));
    if (!wins && !completes) note_refusal(call.verdict, {Reason::NotClearlyCheaper});
}

void add_parallel(const GroupCall& call, RelOptInfo* input, RelOptInfo* partial_rel, bool* has_made_way) {
    const Chain* chain = chain_for(call, input, true);
    Path* path = chain ? make_partial_path(call, chain, partial_rel) : nullptr;
    if (!path) return;
    double rows = path->rows * parallel_shares(chain->workers);
    auto* gather = reinterpret_cast<Path*>(
        create_gather_path(call.root, partial_rel, path, path->pathtarget, nullptr, &rows));
    const bool wins = is_worthwhile(call, chain, gather, kCostOfGroup);
    if (wins) make_way(call, input, chain, gather, has_made_way);
    add_final_paths(call, gather, wins);
}

void add_grouped_paths(const GroupCall& call, RelOptInfo* input) {
    RelOptInfo* partial_rel = partial_relation(call);
    bool has_made_way = false;
    add_serial(call, input, partial_rel, &has_made_way);
    if (call.grouped->consider_parallel) add_parallel(call, input, partial_rel, &has_made_way);
}

// What keeps us out of a grouping, whatever it computes.
Reason reason_against(PlannerInfo* root, RelOptInfo* input, const GroupPathExtraData* extra) {
    const Query* query = root->parse;
    if (!setting_aggregate) return Reason::AggregatesOff;
    if (query->groupingSets != NIL) return Reason::GroupingSets;
    if (query->hasTargetSRFs) return Reason::SetReturning;
    if (root->hasNonPartialAggs || root->hasNonSerialAggs || !(extra->flags & GROUPING_CAN_PARTIAL_AGG))
        return Reason::NoPartialStates;
    if (extra->patype != PARTITIONWISE_AGGREGATE_NONE) return Reason::Partitionwise;
    // Asked before anything is computed, as most groupings are small.
    const bool is_large = setting_force || input->cheapest_total_path->rows >= kFewestSourceRows ||
                          cheapest_chain(input, false) || cheapest_chain(input, true) ||
                          has_many_kept_rows(root, input);
    return is_large ? Reason::None : Reason::FewRows;
}

void propose_groups(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output,
                    const GroupPathExtraData* grouping, Verdict* verdict) {
    PlanningFacts server;
    read_planning_facts(&server);
    if (setting_force) server.rates = {};
    GroupCall call = {};
    call.root = root;
    call.grouped = output;
    call.extra = grouping;
    call.verdict = verdict;
    call.clause = group_clause(root);
    call.final = final_target(call);
    call.target = partial_target(call);
    call.groups = 1;
    if (call.clause != NIL)
        call.groups = estimate_num_groups(root, get_sortgrouplist_exprs(call.clause, grouping->targetList),
                                          input->rows, nullptr, nullptr);
    call.engine = engine_costs(server.rates);
    add_grouped_paths(call, input);
}

void add_gpu_aggregates(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                        void* extra) {
    if (previous_hook) previous_hook(root, stage, input, output, extra);
    if (stage != UPPERREL_GROUP_AGG || !setting_enabled || !server_is_ready()) return;
    if (IS_OTHER_REL(input) || (!root->parse->hasAggs && root->parse->groupClause == NIL)) return;
    const auto* grouping = static_cast<const GroupPathExtraData*>(extra);
    Verdict* verdict = is_recording(root) ? zeroed<Verdict>() : nullptr;
    const Reason against = reason_against(root, input, grouping);
    if (against == Reason::None) propose_groups(root, input, output, grouping, verdict);
    if (!verdict) return;
    if (against == Reason::FewRows) refuse_few_rows(verdict, input->cheapest_total_path->rows);
    if (against == Reason::NoPartialStates)
        refuse_aggregates(verdict, grouping->targetList, grouping->havingQual);
    note_refusal(verdict, {against});
    record_groups(root, input, list_length(group_clause(root)), *verdict);
}

}  // namespace

void install_groups_hook() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = add_gpu_aggregates;
}

}  // namespace gpujoin
