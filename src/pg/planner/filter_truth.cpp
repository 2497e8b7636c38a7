// Conditions in filter programs: see filter_translator.h.
#include <iterator>

#include "pg/error_free.h"
#include "pg/planner/distances.h"
#include "pg/planner/filter_translator.h"
#include "pg/planner/simpler_conditions.h"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

using enum FilterOpcode;

constexpr Oid kIntervalFamily = 1982;

FilterOpcode opcode_of(Comparison comparison) {
    constexpr FilterOpcode kOpcodes[] = {Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual};
    static_assert(static_cast<int>(Comparison::GreaterEqual) + 1 == std::size(kOpcodes));
    return kOpcodes[static_cast<int>(comparison)];
}

}  // namespace

// Lengths of intervals: differences, and constants.
bool FilterTranslator::put_intervals(const OpExpr* clause) {
    constexpr FilterOpcode kByStrategy[] = {NotEqual, Less, LessEqual, Equal, GreaterEqual, Greater};
    int strategy = get_op_opfamily_strategy(clause->opno, kIntervalFamily);
    if (strategy == 0 && get_op_opfamily_strategy(get_negator(clause->opno), kIntervalFamily) == 0)
        return false;
    FunctionCall difference;
    FilterOperation operation;
    auto* left = static_cast<Node*>(linitial(clause->args));
    auto* right = static_cast<Node*>(lsecond(clause->args));
    int64 length;
    if (interval_constant(left, &length))
        put_constant(Load, FilterType::Int64, length);
    else if (!take_call(left, &difference) || !find_operation(difference.function, &operation) ||
             !put_call(difference, operation))
        return false;
    if (interval_constant(right, &length)) {
        put_constant(kByStrategy[strategy], FilterType::Int64, length);
        return true;
    }
    put(Push);
    if (!take_call(right, &difference) || !find_operation(difference.function, &operation) ||
        !put_call(difference, operation))
        return false;
    put(kByStrategy[strategy]);
    return true;
}

bool FilterTranslator::put_comparison(const OpExpr* clause) {
    if (list_length(clause->args) != 2) return false;
    auto* left = static_cast<Node*>(linitial(clause->args));
    auto* right = static_cast<Node*>(lsecond(clause->args));
    if (exprType(left) == INTERVALOID) return put_intervals(clause);
    OperatorEncoding found;
    if (!find_operator_encoding(clause->opno, clause->inputcollid, &found)) return false;
    if (is_of_row_ && (found.encoding == KeyEncoding::Numeric || found.encoding == KeyEncoding::NumericOrder))
        return put_decimal_comparison(left, opcode_of(found.comparison), right);
    const FilterValueType* left_type = find_value_type(found.left_type);
    const FilterValueType* right_type = find_value_type(found.right_type);
    if (!left_type || !right_type) return false;
    FilterOpcode opcode = opcode_of(found.comparison);
    if (found.encoding != KeyEncoding::DateTimestamp)
        return put_number(left, left_type->type) &&
               put_right(opcode, left_type->filter, right, right_type->type, false);
    if (!put_timestamp(left, left_type->type)) return false;
    put(Push);
    if (!put_timestamp(right, right_type->type)) return false;
    put(opcode, FilterType::Timestamp);
    return true;
}

bool FilterTranslator::put_is_null(Node* node, Oid type) {
    if (!put_number(node, type)) return false;
    put(IsNull);
    return true;
}

// NOT (a = b IS TRUE OR a IS NULL AND b IS NULL)
bool FilterTranslator::put_distinction(const DistinctExpr* clause) {
    Oid types[2];
    op_input_types(clause->opno, &types[0], &types[1]);
    if (!put_comparison(clause)) return false;
    put(IsTrue);
    put(Push);
    if (!put_is_null(static_cast<Node*>(linitial(clause->args)), types[0])) return false;
    put(Push);
    if (!put_is_null(static_cast<Node*>(lsecond(clause->args)), types[1])) return false;
    put(And);
    put(Or);
    put(Not);
    return true;
}

// PostgreSQL evaluates x of x = ANY (list) even if there is nothing in the list.
bool FilterTranslator::put_array_comparison(const ScalarArrayOpExpr* clause) {
    if (Expr* comparisons = as_comparisons(clause)) return put_truth(reinterpret_cast<Node*>(comparisons));
    List* elements;
    return find_elements(static_cast<Node*>(lsecond(clause->args)), &elements) && elements == NIL &&
           cannot_fail(static_cast<Node*>(linitial(clause->args))) &&
           put_flag(makeBoolConst(!clause->useOr, false));
}

// CASE WHEN c THEN x ELSE y END of truth values is c IS TRUE AND x OR c IS NOT TRUE AND y, where y is the
// rest of the CASE: what is not chosen, and may fail, does not count.
bool FilterTranslator::put_case(const CaseExpr* choice, int first) {
    if (choice->arg) return false;
    if (first == list_length(choice->args)) return put_truth(reinterpret_cast<Node*>(choice->defresult));
    const CaseWhen* when = list_nth_node(CaseWhen, choice->args, first);
    auto put_choice = [&] { return put_truth(reinterpret_cast<Node*>(when->expr)); };
    if (!exactly(put_choice)) return false;
    put(IsTrue);
    put(Push);
    if (!put_truth(reinterpret_cast<Node*>(when->result))) return false;
    put(And);
    put(Push);
    if (!exactly(put_choice)) return false;
    put(IsTrue);
    put(Not);
    put(Push);
    if (!put_case(choice, first + 1)) return false;
    put(And);
    put(Or);
    return true;
}

bool FilterTranslator::put_compared_case(const OpExpr* clause) {
    const CaseExpr* choice = as_compared_case(clause);
    return choice && put_case(choice);
}

// An arm of an OR that is NULL is passed over where a later one is true, which core comes to only if the
// first raises no error.
bool FilterTranslator::put_connection(const BoolExpr* expression) {
    ListCell* cell;
    foreach (cell, expression->args) {
        if (foreach_current_index(cell) > 0) put(Push);
        auto put_arm = [&] { return put_truth(static_cast<Node*>(lfirst(cell))); };
        bool may_be_passed_over = expression->boolop == OR_EXPR && lnext(expression->args, cell);
        if (may_be_passed_over ? !exactly(put_arm) : !put_arm()) return false;
        if (foreach_current_index(cell) > 0) put(expression->boolop == AND_EXPR ? And : Or);
    }
    if (expression->boolop == NOT_EXPR) put(Not);
    return true;
}

bool FilterTranslator::put_test(const BooleanTest* test) {
    if (!put_truth(reinterpret_cast<Node*>(test->arg))) return false;
    bool is_false = test->booltesttype == IS_FALSE || test->booltesttype == IS_NOT_FALSE;
    bool is_unknown = test->booltesttype == IS_UNKNOWN || test->booltesttype == IS_NOT_UNKNOWN;
    if (is_false) put(Not);
    put(is_unknown ? IsNull : IsTrue);
    bool is_negated = test->booltesttype == IS_NOT_TRUE || test->booltesttype == IS_NOT_FALSE ||
                      test->booltesttype == IS_NOT_UNKNOWN;
    if (is_negated) put(Not);
    return true;
}

bool FilterTranslator::put_null_test(const NullTest* test) {
    if (test->argisrow) return false;
    auto* argument = reinterpret_cast<Node*>(test->arg);
    Oid type = getBaseType(exprType(argument));
    int scale;
    const bool is_put = type == BOOLOID ? put_truth(argument)
                        : type == NUMERICOID && is_of_row_
                            ? find_unit(argument, &scale) && put_decimal(argument, scale)
                            : find_value_type(type) && put_number(argument, type);
    if (!is_put) return false;
    put(IsNull);
    if (test->nulltesttype == IS_NOT_NULL) put(Not);
    return true;
}

// A boolean column, or a condition on one side.
bool FilterTranslator::put_flag(Node* node) {
    FilterSource source;
    int operand;
    if (exprType(node) != BOOLOID || !find_operand(node, BOOLOID, &source, &operand)) return false;
    put(Load, FilterType::Int16, source, operand);
    put_constant(NotEqual, FilterType::Int16, 0);
    return true;
}

void restore(JoinFilter* filter, const JoinFilter& before) {
    filter->program = before.program;
    for (auto [values, count] : {std::pair(&filter->probe, before.probe.values.count),
                                 std::pair(&filter->build, before.build.values.count)}) {
        values->values.count = count;
        values->expressions = list_truncate(values->expressions, count);
    }
}

bool FilterTranslator::put_truth(Node* node) {
    check_stack_depth();
    if (!fits_) return false;
    const JoinFilter before = *filter_;
    bool done = false;
    switch (nodeTag(node)) {
        case T_BoolExpr:
            done = put_connection(reinterpret_cast<BoolExpr*>(node));
            break;
        case T_BooleanTest:
            done = exactly([&] { return put_test(reinterpret_cast<BooleanTest*>(node)); });
            break;
        case T_NullTest:
            done = exactly([&] { return put_null_test(reinterpret_cast<NullTest*>(node)); });
            break;
        case T_OpExpr:
            done = put_comparison(reinterpret_cast<OpExpr*>(node));
            if (done) break;
            restore(filter_, before);
            done = put_compared_case(reinterpret_cast<OpExpr*>(node));
            break;
        case T_DistinctExpr:
            done = exactly([&] { return put_distinction(reinterpret_cast<DistinctExpr*>(node)); });
            break;
        case T_ScalarArrayOpExpr:  // of one side: one value a row instead of steps for every element
            if (put_flag(node)) return true;
            done = put_array_comparison(reinterpret_cast<ScalarArrayOpExpr*>(node));
            break;
        case T_CaseExpr:
            if (put_flag(node)) return true;
            done = put_case(reinterpret_cast<CaseExpr*>(node));
            break;
        default:
            break;
    }
    if (done && fits_) return true;
    restore(filter_, before);
    fits_ = true;
    return put_flag(node);
}

}  // namespace gpujoin
