// Translation of conditions into filter programs (wire/filter_program.h). What the engines compute is exactly
// what PostgreSQL's functions compute; where those would raise an error, the pair is undecided.
//
//   values       integers, oids, floats, bool, dates, times, timestamps: columns, constants, and
//                expressions over one side that cannot fail, which are evaluated once a row
//   arithmetic   + - * / % abs and the minus sign, with the type that PostgreSQL gives the outcome
//   spans        differences of timestamps and of times, in microseconds: intervals compare by their length
//   decimals     of one row, where that is all there is: numerics of a known scale, constants, integers, and
//                their sums and products, in units of the last digit; CASE of numbers
//   truth        comparisons, AND, OR, NOT, IS [NOT] NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM, boolean
//                values, CASE WHEN condition, IN and <operator> ANY | ALL of a list
#include "pg/planner/filters.h"

#include "pg/allocate.h"
#include "pg/planner/decimal_scales.h"
#include "pg/planner/filter_translator.h"

extern "C" {
#include "nodes/makefuncs.h"
}

namespace gpujoin {

namespace {

using enum FilterOpcode;

std::span<const ColumnSpec> columns_of(const FilterValues& values) {
    auto* columns = zeroed<ColumnSpec>(Max(values.values.count, 1));
    for (int i = 0; i < values.values.count; i++) columns[i] = column_of(values.values.value[i].encoding);
    return {columns, static_cast<size_t>(values.values.count)};
}

// Whether an engine will take the program: not if it needs more stack than there is.
bool is_valid(const JoinFilter* filter, bool gives_truth) {
    ValueKind outcome;
    return validate_program(filter->program, columns_of(filter->probe), columns_of(filter->build), &outcome)
               .ok() &&
           (outcome == ValueKind::Truth) == gives_truth;
}

bool add_truth(JoinFilter* filter, Expr* clause, const JoinSides& sides, bool is_of_row) {
    const JoinFilter before = *filter;
    const bool is_first = filter->program.steps == 0;
    FilterTranslator translator(filter, sides, is_of_row);
    if (!is_first) translator.put(Push);
    bool done = translator.put_truth(reinterpret_cast<Node*>(clause));
    if (!is_first) translator.put(And);
    if (done && translator.fits() && is_valid(filter, true)) return true;
    restore(filter, before);
    return false;
}

// A CASE of two arms that are of different scales.
bool find_two_scales(FilterTranslator* translator, Node* expression, DecimalScale* scale) {
    auto* choice = reinterpret_cast<CaseExpr*>(expression);
    int scales[2];
    if (choice->arg || !choice->defresult || list_length(choice->args) != 1) return false;
    const CaseWhen* when = linitial_node(CaseWhen, choice->args);
    if (!translator->find_scale(reinterpret_cast<Node*>(when->result), &scales[0]) ||
        !translator->find_scale(reinterpret_cast<Node*>(choice->defresult), &scales[1]))
        return false;
    auto* test = makeNode(BooleanTest);
    test->arg = when->expr;
    test->booltesttype = scales[0] > scales[1] ? IS_TRUE : IS_NOT_TRUE;
    test->location = -1;
    *scale = {Max(scales[0], scales[1]), Min(scales[0], scales[1]), reinterpret_cast<Expr*>(test)};
    return true;
}

bool find_all_scales(FilterTranslator* translator, Node* expression, DecimalScale* scale) {
    *scale = {};
    if (translator->find_scale(expression, &scale->scale)) return true;
    expression = as_choice(expression);
    return IsA(expression, CaseExpr) && find_two_scales(translator, expression, scale);
}

}  // namespace

bool add_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides) {
    return add_truth(filter, clause, sides, false);
}

bool add_row_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides) {
    return add_truth(filter, clause, sides, true);
}

bool add_number(JoinFilter* filter, Node* expression, Oid type, const JoinSides& sides) {
    const JoinFilter before = *filter;
    FilterTranslator translator(filter, sides, true);
    if (translator.put_exact_number(expression, type) && translator.fits() && is_valid(filter, false))
        return true;
    restore(filter, before);
    return false;
}

bool add_number_of_truth(JoinFilter* filter, Node* condition, const JoinSides& sides) {
    const JoinFilter before = *filter;
    FilterTranslator translator(filter, sides, true);
    if (translator.put_number_of_truth(condition) && translator.fits() && is_valid(filter, false))
        return true;
    restore(filter, before);
    return false;
}

bool add_decimal(JoinFilter* filter, Node* expression, const JoinSides& sides, DecimalScale* scale) {
    const JoinFilter before = *filter;
    FilterTranslator translator(filter, sides, true);
    if (find_all_scales(&translator, expression, scale) &&
        translator.put_exact_decimal(expression, scale->scale) && translator.fits() &&
        is_valid(filter, false))
        return true;
    restore(filter, before);
    return false;
}

}  // namespace gpujoin
