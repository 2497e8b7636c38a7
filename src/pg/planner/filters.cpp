// Translation of conditions into filter programs (wire/filter_program.h). What the engines compute is exactly
// what PostgreSQL's functions compute; where those would raise an error, the pair is undecided.
//
//   values       integers, oids, floats, bool, dates, times, timestamps: columns, constants, and
//                expressions over one side that cannot fail, which are evaluated once a row
//   arithmetic   + - * / % abs and the minus sign, with the type that PostgreSQL gives the outcome
//   spans        differences of timestamps and of times, in microseconds: intervals compare by their length
//   decimals     of one row, where that is all there is: numerics of a known scale, constants, integers, and
//   their
//                sums and products, in units of the last digit; CASE of numbers
//   truth        comparisons, AND, OR, NOT, IS [NOT] NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM, boolean
//                values, CASE WHEN condition, IN and <operator> ANY | ALL of a list
#include "pg/planner/filters.h"

#include <iterator>
#include <utility>

#include "pg/allocate.h"
#include "pg/decimal.h"
#include "pg/overflow.h"
#include "pg/planner/decimal_scales.h"
#include "pg/planner/distances.h"
#include "pg/error_free.h"
#include "pg/planner/filter_operations.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
}

namespace gpujoin {
namespace {

using enum FilterOpcode;

constexpr Oid kIntervalFamily = 1982;

int64 power_of_ten(int exponent) {
    int64 power = 1;
    for (; exponent > 0; exponent--) power *= 10;
    return power;
}

FilterOpcode opcode_of(Comparison comparison) {
    constexpr FilterOpcode kOpcodes[] = {Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual};
    static_assert(static_cast<int>(Comparison::GreaterEqual) + 1 == std::size(kOpcodes));
    return kOpcodes[static_cast<int>(comparison)];
}

class Translator {
  public:
    Translator(JoinFilter* filter, const JoinSides& sides, bool is_of_row = false)
        : filter_(filter), sides_(sides), is_of_row_(is_of_row) {}

    // Leaves a condition's truth in the accumulator. False where that cannot be done; the program is then
    // spoilt.
    bool put_truth(Node* node);
    // The same for a number that the expression is, read as the type.
    bool put_exact_number(Node* node, Oid type) {
        return exactly([&] { return put_number(node, type); });
    }
    bool put_number_of_truth(Node* condition);
    bool put_exact_decimal(Node* node, int scale) {
        return exactly([&] { return put_decimal(node, scale); });
    }
    bool find_scale(Node* node, int* scale);
    bool find_unit(Node* node, int* scale);
    void put(FilterOpcode opcode, FilterType type = FilterType::Int64,
             FilterSource source = FilterSource::Stack, int operand = 0);
    bool fits() const { return fits_; }

  private:
    bool put_connection(const BoolExpr* expression);
    bool put_test(const BooleanTest* test);
    bool put_null_test(const NullTest* test);
    bool put_comparison(const OpExpr* clause);
    bool put_distinction(const DistinctExpr* clause);
    bool put_array_comparison(const ScalarArrayOpExpr* clause);
    bool put_case(const CaseExpr* choice, int first = 0);
    bool put_compared_case(const OpExpr* clause);
    bool put_intervals(const OpExpr* clause);
    bool put_flag(Node* node);
    bool put_number(Node* node, Oid type);
    bool put_call(const FunctionCall& call, const FilterOperation& operation);
    bool put_with_interval(const FunctionCall& call, const FilterOperation& operation);
    bool put_right(FilterOpcode opcode, FilterType type, Node* right, Oid right_type, bool is_finite);
    bool put_checked(Node* node, Oid type, bool is_finite);
    bool put_timestamp(Node* node, Oid type);
    bool put_is_null(Node* node, Oid type);
    void put_constant(FilterOpcode opcode, FilterType type, int64 value);
    bool find_operand(Node* node, Oid type, FilterSource* source, int* operand);
    bool find_value(Node* node, Oid type, FilterSource* source, int* operand);
    bool find_encoded(Node* node, const PlanValue& as, FilterSource* source, int* operand);
    bool put_decimal(Node* node, int scale);
    bool put_decimal_call(const FunctionCall& call, int scale);
    bool put_scaled(Node* node, int from, int to);
    bool put_decimal_comparison(Node* left, FilterOpcode opcode, Node* right);
    template <typename PutArm>
    bool put_chosen_number(const CaseExpr* choice, FilterType type, const PutArm& put_arm, int first = 0);
    int constant(int64 bits);

    // Runs a part of the translation in which a condition may be true because a value is NULL: where that
    // stood for an overflow there would be a row in place of core's error, so no such value is taken.
    template <typename Put>
    bool exactly(const Put& put_part) {
        bool before = std::exchange(is_exact_, true);
        bool done = put_part();
        is_exact_ = before;
        return done;
    }

    JoinFilter* filter_;
    const JoinSides& sides_;
    const bool is_of_row_;
    bool is_exact_ = false;
    bool fits_ = true;
};

void Translator::put(FilterOpcode opcode, FilterType type, FilterSource source, int operand) {
    FilterProgram* program = &filter_->program;
    if (program->steps == kMaxFilterSteps) {
        fits_ = false;
        return;
    }
    program->step[program->steps++] = {opcode, type, source, 0, static_cast<uint16_t>(operand), 0};
}

int Translator::constant(int64 bits) {
    FilterProgram* program = &filter_->program;
    for (int i = 0; i < program->constants; i++)
        if (program->constant[i] == static_cast<uint64_t>(bits)) return i;
    if (program->constants == kMaxFilterConstants) {
        fits_ = false;
        return 0;
    }
    program->constant[program->constants] = static_cast<uint64_t>(bits);
    return program->constants++;
}

void Translator::put_constant(FilterOpcode opcode, FilterType type, int64 value) {
    put(opcode, type, FilterSource::Constant, constant(value));
}

// An expression over one side alone that can be evaluated once a row.
bool Translator::find_value(Node* node, Oid type, FilterSource* source, int* operand) {
    const FilterValueType* value_type = find_value_type(type);
    return value_type && find_encoded(node, {value_type->encoding, type, 0}, source, operand);
}

bool Translator::find_encoded(Node* node, const PlanValue& as, FilterSource* source, int* operand) {
    if (!cannot_fail(node) || (is_exact_ && may_overflow(node))) return false;
    Relids relids = pull_varnos(sides_.root, node);
    bool on_probe = bms_is_subset(relids, sides_.probe_relids);
    if (!on_probe && !bms_is_subset(relids, sides_.build_relids)) return false;
    if (sides_.is_of_one_input && !sides_.is_of_one_input(sides_, node)) return false;
    FilterValues* values = on_probe ? &filter_->probe : &filter_->build;
    *source = on_probe ? FilterSource::Probe : FilterSource::Build;
    for (*operand = 0; *operand < values->values.count; (*operand)++)
        if (values->values.value[*operand].type == as.type &&
            values->values.value[*operand].scale == as.scale &&
            equal(list_nth(values->expressions, *operand), node))
            return true;
    if (values->values.count == kMaxPlanValues) return false;
    values->values.value[values->values.count++] = as;
    values->expressions = lappend(values->expressions, node);
    return true;
}

// Casts that change nothing in the machine's values, down to the argument, whose type comes with it.
Node* without_void_casts(Node* node, Oid* type) {
    for (;;) {
        FunctionCall call;
        FilterOperation operation;
        if (IsA(node, RelabelType)) {
            auto* argument = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(node)->arg);
            if (getBaseType(exprType(argument)) != *type) return node;
            node = argument;
        } else if (take_call(node, &call) && find_operation(call.function, &operation) && operation.is_void) {
            node = call.argument[0];
            *type = call.type[0];
        } else {
            return node;
        }
    }
}

// A constant or value, which a step can take as its operand; NULL is a value of the probe side. The node is
// without void casts.
bool Translator::find_operand(Node* node, Oid type, FilterSource* source, int* operand) {
    FunctionCall call;
    FilterOperation operation;
    if (IsA(node, Const) && !reinterpret_cast<Const*>(node)->constisnull) {
        int64 bits;
        if (!constant_bits(reinterpret_cast<Const*>(node), type, &bits)) return false;
        *source = FilterSource::Constant;
        *operand = constant(bits);
        return true;
    }
    if (take_call(node, &call) && find_operation(call.function, &operation)) return false;
    return find_value(node, type, source, operand);
}

// Leaves a number in the empty accumulator: the node, read as the type.
bool Translator::put_number(Node* node, Oid type) {
    node = without_void_casts(node, &type);
    FilterSource source;
    int operand;
    if (find_operand(node, type, &source, &operand)) {
        put(Load, find_value_type(type)->filter, source, operand);
        return true;
    }
    if (is_of_row_ && IsA(node, CaseExpr))
        return put_chosen_number(reinterpret_cast<CaseExpr*>(node), find_value_type(type)->filter,
                                 [&](Node* arm) { return put_number(arm, type); });
    FunctionCall call;
    FilterOperation operation;
    return take_call(node, &call) && find_operation(call.function, &operation) && put_call(call, operation);
}

// CASE WHEN c THEN x ELSE y END of numbers, where y is the rest of the CASE. put_arm leaves an arm's number.
template <typename PutArm>
bool Translator::put_chosen_number(const CaseExpr* choice, FilterType type, const PutArm& put_arm,
                                   int first) {
    if (choice->arg || !choice->defresult) return false;
    if (first == list_length(choice->args)) return put_arm(reinterpret_cast<Node*>(choice->defresult));
    const CaseWhen* when = list_nth_node(CaseWhen, choice->args, first);
    if (!exactly([&] { return put_truth(reinterpret_cast<Node*>(when->expr)); })) return false;
    put(IsTrue);
    put(Push);
    if (!put_arm(reinterpret_cast<Node*>(when->result))) return false;
    put(Push);
    if (!put_chosen_number(choice, type, put_arm, first + 1)) return false;
    put(Choose, type);
    return true;
}

CaseWhen* when(Expr* condition, int32 result) {
    auto* arm = makeNode(CaseWhen);
    arm->expr = condition;
    arm->result = reinterpret_cast<Expr*>(
        makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(result), false, true));
    arm->location = -1;
    return arm;
}

// The CASE as a whole is no value of an input, whose rows have only what the condition is made of.
bool Translator::put_number_of_truth(Node* condition) {
    auto* truth = reinterpret_cast<Expr*>(condition);
    auto* choice = makeNode(CaseExpr);
    choice->casetype = INT4OID;
    choice->args = list_make2(when(truth, 1), when(make_notclause(truth), 0));
    choice->defresult = reinterpret_cast<Expr*>(makeNullConst(INT4OID, -1, InvalidOid));
    choice->location = -1;
    return put_chosen_number(choice, find_value_type(INT4OID)->filter,
                             [&](Node* arm) { return put_number(arm, INT4OID); });
}

// The one scale of all values.
bool Translator::find_scale(Node* node, int* scale) {
    return find_scale_of(sides_.root, node, scale);
}

// The largest scale that a value may have, in whose units all are computed.
bool Translator::find_unit(Node* node, int* scale) {
    ScaleRange range;
    if (!find_scales(sides_.root, node, &range)) return false;
    *scale = range.high;
    return true;
}

// Leaves the expression in units of 10^-to, where its own unit is 10^-from.
bool Translator::put_scaled(Node* node, int from, int to) {
    if (!put_decimal(node, from)) return false;
    if (to > from) put_constant(Multiply, FilterType::Int64, power_of_ten(to - from));
    return true;
}

// Leaves the expression in its own unit, of that scale.
bool Translator::put_decimal(Node* node, int scale) {
    node = as_choice(node);
    FunctionCall call;
    if (IsA(node, Const)) {
        int64 value;
        int found;
        if (!decimal_constant(reinterpret_cast<Const*>(node)->constvalue, &value, &found)) return false;
        put_constant(Load, FilterType::Int64, value);
        return true;
    }
    if (IsA(node, Var)) {
        FilterSource source;
        int operand;
        if (!find_encoded(node, {KeyEncoding::Decimal64, NUMERICOID, scale}, &source, &operand)) return false;
        put(Load, FilterType::Decimal, source, operand);
        put(Check, FilterType::Decimal);
        return true;
    }
    if (IsA(node, CaseExpr))
        return put_chosen_number(reinterpret_cast<CaseExpr*>(node), FilterType::Int64, [&](Node* arm) {
            int own;
            return find_unit(arm, &own) && put_scaled(arm, own, scale);
        });
    return take_call(node, &call) && put_decimal_call(call, scale);
}

bool Translator::put_decimal_call(const FunctionCall& call, int scale) {
    if (is_integer_cast(call.function)) return put_number(call.argument[0], call.type[0]);
    int scales[2] = {0, 0};
    for (int i = 0; i < call.count; i++)
        if (!find_unit(call.argument[i], &scales[i])) return false;
    if (call.count == 1) {
        if (!put_decimal(call.argument[0], scales[0])) return false;
        put(call.function == F_NUMERIC_UMINUS ? Negate : Absolute, FilterType::Int64);
        return true;
    }
    bool aligns = call.function != F_NUMERIC_MUL;
    if (!put_scaled(call.argument[0], scales[0], aligns ? scale : scales[0])) return false;
    put(Push);
    if (!put_scaled(call.argument[1], scales[1], aligns ? scale : scales[1])) return false;
    put(!aligns ? Multiply : call.function == F_NUMERIC_ADD ? Add : Subtract, FilterType::Int64);
    return true;
}

bool Translator::put_decimal_comparison(Node* left, FilterOpcode opcode, Node* right) {
    int left_scale, right_scale;
    if (!find_unit(left, &left_scale) || !find_unit(right, &right_scale)) return false;
    int scale = Max(left_scale, right_scale);
    if (!put_scaled(left, left_scale, scale)) return false;
    put(Push);
    if (!put_scaled(right, right_scale, scale)) return false;
    put(opcode);
    return true;
}

bool Translator::put_checked(Node* node, Oid type, bool is_finite) {
    if (!put_number(node, type)) return false;
    if (is_finite && (type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID))
        put(Check, find_value_type(type)->filter);
    return true;
}

bool Translator::put_call(const FunctionCall& call, const FilterOperation& operation) {
    if (call.count == 2 && call.type[1] == INTERVALOID) return put_with_interval(call, operation);
    if (!put_checked(call.argument[0], call.type[0], operation.is_finite)) return false;
    if (call.count == 2)
        return put_right(operation.opcode, operation.type, call.argument[1], call.type[1],
                         operation.is_finite);
    put(operation.opcode, operation.type);
    return true;
}

// Combines the accumulator with a right operand.
bool Translator::put_right(FilterOpcode opcode, FilterType type, Node* right, Oid right_type,
                           bool is_finite) {
    Oid plain_type = right_type;
    Node* plain = without_void_casts(right, &plain_type);
    FilterSource source;
    int operand;
    bool is_checked =
        is_finite && (right_type == DATEOID || right_type == TIMESTAMPOID || right_type == TIMESTAMPTZOID);
    if (!is_checked && find_operand(plain, plain_type, &source, &operand)) {
        put(opcode, type, source, operand);
        return true;
    }
    put(Push);
    if (!put_checked(right, right_type, is_finite)) return false;
    put(opcode, type);
    return true;
}

// A timestamp and an interval of a fixed length: as PostgreSQL does, first the days, then the rest. A day of
// timestamptz has as many hours as the time zone makes it.
bool Translator::put_with_interval(const FunctionCall& call, const FilterOperation& operation) {
    if (!IsA(call.argument[1], Const)) return false;
    auto* constant = reinterpret_cast<Const*>(call.argument[1]);
    if (constant->constisnull) return false;
    const Interval* interval = DatumGetIntervalP(constant->constvalue);
    if (interval->month != 0 || (interval->day != 0 && call.type[0] != TIMESTAMPOID)) return false;
    if (!put_checked(call.argument[0], call.type[0], true)) return false;
    if (interval->day != 0) put_constant(operation.opcode, operation.type, interval->day * USECS_PER_DAY);
    put_constant(operation.opcode, operation.type, interval->time);
    return true;
}

// Lengths of intervals: differences, and constants.
bool Translator::put_intervals(const OpExpr* clause) {
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

// Of a date the timestamp that it begins with: undecided where there is none, as for infinite dates.
bool Translator::put_timestamp(Node* node, Oid type) {
    if (!put_number(node, type)) return false;
    if (type == DATEOID) put_constant(Multiply, FilterType::Timestamp, USECS_PER_DAY);
    return true;
}

bool Translator::put_comparison(const OpExpr* clause) {
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

bool Translator::put_is_null(Node* node, Oid type) {
    if (!put_number(node, type)) return false;
    put(IsNull);
    return true;
}

// NOT (a = b IS TRUE OR a IS NULL AND b IS NULL)
bool Translator::put_distinction(const DistinctExpr* clause) {
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

// The elements of a list or of a constant array as expressions. False for others: where elements may fail,
// which PostgreSQL evaluates before it compares any, and where there are more than a program could test.
bool find_elements(Node* node, List** elements) {
    *elements = NIL;
    if (IsA(node, ArrayExpr)) {
        auto* list = reinterpret_cast<ArrayExpr*>(node);
        *elements = list->elements;
        return !list->multidims && cannot_fail(reinterpret_cast<Node*>(list->elements));
    }
    if (!IsA(node, Const) || reinterpret_cast<Const*>(node)->constisnull) return false;
    ArrayType* array = DatumGetArrayTypeP(reinterpret_cast<Const*>(node)->constvalue);
    if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > static_cast<int>(kMaxFilterSteps)) return false;
    const TypeCacheEntry* type = lookup_type_cache(ARR_ELEMTYPE(array), 0);
    Datum* values;
    bool* nulls;
    int count;
    deconstruct_array(array, type->type_id, type->typlen, type->typbyval, type->typalign, &values, &nulls,
                      &count);
    for (int i = 0; i < count; i++)
        *elements = lappend(*elements, makeConst(type->type_id, -1, type->typcollation, type->typlen,
                                                 values[i], nulls[i], type->typbyval));
    return true;
}

// PostgreSQL evaluates x of x = ANY (list) even if there is nothing in the list.
bool Translator::put_array_comparison(const ScalarArrayOpExpr* clause) {
    if (Expr* comparisons = as_comparisons(clause)) return put_truth(reinterpret_cast<Node*>(comparisons));
    List* elements;
    return find_elements(static_cast<Node*>(lsecond(clause->args)), &elements) && elements == NIL &&
           cannot_fail(static_cast<Node*>(linitial(clause->args))) &&
           put_flag(makeBoolConst(!clause->useOr, false));
}

// CASE WHEN c THEN x ELSE y END of truth values is c IS TRUE AND x OR c IS NOT TRUE AND y, where y is the
// rest of the CASE: what is not chosen, and may fail, does not count.
bool Translator::put_case(const CaseExpr* choice, int first) {
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

bool Translator::put_compared_case(const OpExpr* clause) {
    const CaseExpr* choice = as_compared_case(clause);
    return choice && put_case(choice);
}

// An arm of an OR that is NULL is passed over where a later one is true, which core comes to only if the
// first raises no error.
bool Translator::put_connection(const BoolExpr* expression) {
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

bool Translator::put_test(const BooleanTest* test) {
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

bool Translator::put_null_test(const NullTest* test) {
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
bool Translator::put_flag(Node* node) {
    FilterSource source;
    int operand;
    if (exprType(node) != BOOLOID || !find_operand(node, BOOLOID, &source, &operand)) return false;
    put(Load, FilterType::Int16, source, operand);
    put_constant(NotEqual, FilterType::Int16, 0);
    return true;
}

// Takes back what was added since.
void restore(JoinFilter* filter, const JoinFilter& before) {
    filter->program = before.program;
    for (auto [values, count] : {std::pair(&filter->probe, before.probe.values.count),
                                 std::pair(&filter->build, before.build.values.count)}) {
        values->values.count = count;
        values->expressions = list_truncate(values->expressions, count);
    }
}

bool Translator::put_truth(Node* node) {
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

}  // namespace

namespace {

bool add_truth(JoinFilter* filter, Expr* clause, const JoinSides& sides, bool is_of_row) {
    const JoinFilter before = *filter;
    const bool is_first = filter->program.steps == 0;
    Translator translator(filter, sides, is_of_row);
    if (!is_first) translator.put(Push);
    bool done = translator.put_truth(reinterpret_cast<Node*>(clause));
    if (!is_first) translator.put(And);
    if (done && translator.fits() && is_valid(filter, true)) return true;
    restore(filter, before);
    return false;
}

}  // namespace

Expr* as_comparisons(const ScalarArrayOpExpr* clause) {
    List* elements;
    if (!find_elements(static_cast<Node*>(lsecond(clause->args)), &elements) || elements == NIL)
        return nullptr;
    List* comparisons = NIL;
    ListCell* cell;
    foreach (cell, elements) {
        Expr* comparison =
            make_opclause(clause->opno, BOOLOID, false, static_cast<Expr*>(linitial(clause->args)),
                          static_cast<Expr*>(lfirst(cell)), InvalidOid, clause->inputcollid);
        set_opfuncid(reinterpret_cast<OpExpr*>(comparison));
        comparisons = lappend(comparisons, comparison);
    }
    if (list_length(comparisons) == 1) return static_cast<Expr*>(linitial(comparisons));
    return makeBoolExpr(clause->useOr ? OR_EXPR : AND_EXPR, comparisons, -1);
}

CaseExpr* as_compared_case(const OpExpr* clause) {
    for (int side = 0; side < 2 && list_length(clause->args) == 2; side++) {
        if (!IsA(list_nth(clause->args, side), CaseExpr)) continue;
        auto compare = [clause, side](Expr* result) {
            auto* comparison = castNode(OpExpr, copyObjectImpl(clause));
            lfirst(list_nth_cell(comparison->args, side)) = result;
            return reinterpret_cast<Expr*>(comparison);
        };
        auto* choice = castNode(CaseExpr, copyObjectImpl(list_nth(clause->args, side)));
        ListCell* cell;
        foreach (cell, choice->args) {
            auto* when = lfirst_node(CaseWhen, cell);
            when->result = compare(when->result);
        }
        if (choice->defresult) choice->defresult = compare(choice->defresult);
        choice->casetype = clause->opresulttype;
        choice->casecollid = clause->opcollid;
        return choice;
    }
    return nullptr;
}

bool add_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides) {
    return add_truth(filter, clause, sides, false);
}

bool add_row_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides) {
    return add_truth(filter, clause, sides, true);
}

bool add_number(JoinFilter* filter, Node* expression, Oid type, const JoinSides& sides) {
    const JoinFilter before = *filter;
    Translator translator(filter, sides, true);
    if (translator.put_exact_number(expression, type) && translator.fits() && is_valid(filter, false))
        return true;
    restore(filter, before);
    return false;
}

bool add_number_of_truth(JoinFilter* filter, Node* condition, const JoinSides& sides) {
    const JoinFilter before = *filter;
    Translator translator(filter, sides, true);
    if (translator.put_number_of_truth(condition) && translator.fits() && is_valid(filter, false))
        return true;
    restore(filter, before);
    return false;
}

namespace {

// A CASE of two arms that are of different scales.
bool find_two_scales(Translator* translator, Node* expression, DecimalScale* scale) {
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

bool find_all_scales(Translator* translator, Node* expression, DecimalScale* scale) {
    *scale = {};
    if (translator->find_scale(expression, &scale->scale)) return true;
    expression = as_choice(expression);
    return IsA(expression, CaseExpr) && find_two_scales(translator, expression, scale);
}

}  // namespace

bool add_decimal(JoinFilter* filter, Node* expression, const JoinSides& sides, DecimalScale* scale) {
    const JoinFilter before = *filter;
    Translator translator(filter, sides, true);
    if (find_all_scales(&translator, expression, scale) &&
        translator.put_exact_decimal(expression, scale->scale) && translator.fits() &&
        is_valid(filter, false))
        return true;
    restore(filter, before);
    return false;
}

}  // namespace gpujoin
