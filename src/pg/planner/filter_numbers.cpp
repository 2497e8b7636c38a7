// Numbers in filter programs: see filter_translator.h.
#include "pg/decimal.h"
#include "pg/error_free.h"
#include "pg/overflow.h"
#include "pg/planner/decimal_scales.h"
#include "pg/planner/distances.h"
#include "pg/planner/filter_translator.h"

extern "C" {
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace gpujoin {
namespace {

using enum FilterOpcode;

int64 power_of_ten(int exponent) {
    int64 power = 1;
    for (; exponent > 0; exponent--) power *= 10;
    return power;
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

CaseWhen* when(Expr* condition, int32 result) {
    auto* arm = makeNode(CaseWhen);
    arm->expr = condition;
    arm->result = reinterpret_cast<Expr*>(
        makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(result), false, true));
    arm->location = -1;
    return arm;
}

}  // namespace

void FilterTranslator::put(FilterOpcode opcode, FilterType type, FilterSource source, int operand) {
    FilterProgram* program = &filter_->program;
    if (program->steps == kMaxFilterSteps) {
        fits_ = false;
        return;
    }
    program->step[program->steps++] = {opcode, type, source, 0, static_cast<uint16_t>(operand), 0};
}

int FilterTranslator::constant(int64 bits) {
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

void FilterTranslator::put_constant(FilterOpcode opcode, FilterType type, int64 value) {
    put(opcode, type, FilterSource::Constant, constant(value));
}

// An expression over one side alone that can be evaluated once a row.
bool FilterTranslator::find_value(Node* node, Oid type, FilterSource* source, int* operand) {
    const FilterValueType* value_type = find_value_type(type);
    return value_type && find_encoded(node, {value_type->encoding, type, 0}, source, operand);
}

bool FilterTranslator::find_encoded(Node* node, const PlanValue& as, FilterSource* source, int* operand) {
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

// A constant or value, which a step can take as its operand; NULL is a value of the probe side. The node is
// without void casts.
bool FilterTranslator::find_operand(Node* node, Oid type, FilterSource* source, int* operand) {
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
bool FilterTranslator::put_number(Node* node, Oid type) {
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
bool FilterTranslator::put_chosen_number(const CaseExpr* choice, FilterType type, const PutArm& put_arm,
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

// The CASE as a whole is no value of an input, whose rows have only what the condition is made of.
bool FilterTranslator::put_number_of_truth(Node* condition) {
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
bool FilterTranslator::find_scale(Node* node, int* scale) {
    return find_scale_of(sides_.root, node, scale);
}

// The largest scale that a value may have, in whose units all are computed.
bool FilterTranslator::find_unit(Node* node, int* scale) {
    ScaleRange range;
    if (!find_scales(sides_.root, node, &range)) return false;
    *scale = range.high;
    return true;
}

// Leaves the expression in units of 10^-to, where its own unit is 10^-from.
bool FilterTranslator::put_scaled(Node* node, int from, int to) {
    if (!put_decimal(node, from)) return false;
    if (to > from) put_constant(Multiply, FilterType::Int64, power_of_ten(to - from));
    return true;
}

// Leaves the expression in its own unit, of that scale.
bool FilterTranslator::put_decimal(Node* node, int scale) {
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

bool FilterTranslator::put_decimal_call(const FunctionCall& call, int scale) {
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

bool FilterTranslator::put_decimal_comparison(Node* left, FilterOpcode opcode, Node* right) {
    int left_scale, right_scale;
    if (!find_unit(left, &left_scale) || !find_unit(right, &right_scale)) return false;
    int scale = Max(left_scale, right_scale);
    if (!put_scaled(left, left_scale, scale)) return false;
    put(Push);
    if (!put_scaled(right, right_scale, scale)) return false;
    put(opcode);
    return true;
}

bool FilterTranslator::put_checked(Node* node, Oid type, bool is_finite) {
    if (!put_number(node, type)) return false;
    if (is_finite && (type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID))
        put(Check, find_value_type(type)->filter);
    return true;
}

bool FilterTranslator::put_call(const FunctionCall& call, const FilterOperation& operation) {
    if (call.count == 2 && call.type[1] == INTERVALOID) return put_with_interval(call, operation);
    if (!put_checked(call.argument[0], call.type[0], operation.is_finite)) return false;
    if (call.count == 2)
        return put_right(operation.opcode, operation.type, call.argument[1], call.type[1],
                         operation.is_finite);
    put(operation.opcode, operation.type);
    return true;
}

// Combines the accumulator with a right operand.
bool FilterTranslator::put_right(FilterOpcode opcode, FilterType type, Node* right, Oid right_type,
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
bool FilterTranslator::put_with_interval(const FunctionCall& call, const FilterOperation& operation) {
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

// Of a date the timestamp that it begins with: undecided where there is none, as for infinite dates.
bool FilterTranslator::put_timestamp(Node* node, Oid type) {
    if (!put_number(node, type)) return false;
    if (type == DATEOID) put_constant(Multiply, FilterType::Timestamp, USECS_PER_DAY);
    return true;
}

}  // namespace gpujoin
