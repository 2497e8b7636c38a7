// See range_condition.h.
#include "pg/range_condition.h"

#include <bit>
#include <cmath>

#include "pg/decimal.h"
#include "pg/key_encoding.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int64 kMostDecimal = 1000000000000000000;  // 10^18: more than 18 digits

bool is_range_type(Oid type) {
    switch (type) {
        case INT2OID:
        case INT4OID:
        case DATEOID:
        case INT8OID:
        case TIMEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
        case OIDOID:
        case FLOAT4OID:
        case FLOAT8OID:
            return true;
        default:
            return false;
    }
}

int64 integer_of(Oid type, Datum value) {
    switch (type) {
        case INT2OID:
            return DatumGetInt16(value);
        case INT4OID:
        case DATEOID:
            return DatumGetInt32(value);
        case OIDOID:
            return DatumGetObjectId(value);
        case FLOAT4OID:
            return ordered_integer(double{DatumGetFloat4(value)});
        case FLOAT8OID:
            return ordered_integer(DatumGetFloat8(value));
        default:
            return DatumGetInt64(value);
    }
}

const Expr* strip_relabelling(const void* node) {
    const auto* expression = static_cast<const Expr*>(node);
    while (IsA(expression, RelabelType)) expression = reinterpret_cast<const RelabelType*>(expression)->arg;
    return expression;
}

bool is_column(const Expr* expression) {
    return IsA(expression, Var) && reinterpret_cast<const Var*>(expression)->varattno > 0;
}

bool is_constant(const Expr* expression) {
    return IsA(expression, Const) || IsA(expression, Param);
}

ValueRange between(int64 low, int64 high) {
    return {low, static_cast<uint64>(high) - static_cast<uint64>(low), false, false};
}

constexpr ValueRange kNever = {0, 0, false, true};

ValueRange except(int64 value) {
    return {value, 0, true, false};
}

ValueRange range_of_integers(Comparison comparison, int64 constant) {
    switch (comparison) {
        case Comparison::Equal:
            return between(constant, constant);
        case Comparison::NotEqual:
            return except(constant);
        case Comparison::Less:
            return constant == PG_INT64_MIN ? kNever : between(PG_INT64_MIN, constant - 1);
        case Comparison::LessEqual:
            return between(PG_INT64_MIN, constant);
        case Comparison::Greater:
            return constant == PG_INT64_MAX ? kNever : between(constant + 1, PG_INT64_MAX);
        case Comparison::GreaterEqual:
            return between(constant, PG_INT64_MAX);
    }
    return kNever;
}

// The constant is between an integer and the next one.
ValueRange range_beside(Comparison comparison, int64 integer) {
    switch (comparison) {
        case Comparison::Equal:
            return kNever;
        case Comparison::NotEqual:
            return between(PG_INT64_MIN, PG_INT64_MAX);
        case Comparison::Less:
        case Comparison::LessEqual:
            return between(PG_INT64_MIN, integer);
        case Comparison::Greater:
        case Comparison::GreaterEqual:
            return between(integer + 1, PG_INT64_MAX);
    }
    return kNever;
}

// Days against an instant: all finite dates are after -infinity and before infinity.
ValueRange range_of_dates(Comparison comparison, Timestamp constant) {
    if (TIMESTAMP_IS_NOBEGIN(constant)) return range_of_integers(comparison, DATEVAL_NOBEGIN);
    if (TIMESTAMP_IS_NOEND(constant)) return range_of_integers(comparison, DATEVAL_NOEND);
    int64 day = constant / USECS_PER_DAY, rest = constant % USECS_PER_DAY;
    if (rest == 0) return range_of_integers(comparison, day);
    return range_beside(comparison, rest < 0 ? day - 1 : day);
}

// Instants against a day: one beyond what instants reach is after all of them, and before infinity.
ValueRange range_of_timestamps(Comparison comparison, DateADT constant) {
    if (DATE_IS_NOBEGIN(constant)) return range_of_integers(comparison, DT_NOBEGIN);
    if (DATE_IS_NOEND(constant)) return range_of_integers(comparison, DT_NOEND);
    if (constant >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)
        return range_beside(comparison, PG_INT64_MAX - 1);
    return range_of_integers(comparison, int64{constant} * USECS_PER_DAY);
}

// NaN, the smallest integer, is greater than all others.
ValueRange range_of_decimals(Comparison comparison, int64 constant, bool is_between) {
    constexpr int64 kNaN = kDecimalNaN;
    switch (comparison) {
        case Comparison::Equal:
            return is_between ? kNever : between(constant, constant);
        case Comparison::NotEqual:
            return is_between ? between(kNaN, PG_INT64_MAX) : except(constant);
        case Comparison::Less:
            return between(kNaN + 1, is_between ? constant : constant - 1);
        case Comparison::LessEqual:
            return between(kNaN + 1, constant);
        case Comparison::Greater:
            return between(constant + 1, kNaN);
        case Comparison::GreaterEqual:
            return between(is_between ? constant + 1 : constant, kNaN);
    }
    return kNever;
}

ValueRange range_beside_nan(Comparison comparison) {
    switch (comparison) {
        case Comparison::Equal:
        case Comparison::GreaterEqual:
            return between(kDecimalNaN, kDecimalNaN);
        case Comparison::NotEqual:
        case Comparison::Less:
            return except(kDecimalNaN);
        case Comparison::LessEqual:
            return between(kDecimalNaN, PG_INT64_MAX);
        case Comparison::Greater:
            return kNever;
    }
    return kNever;
}

Datum numeric_from(int64 value) {
    return DirectFunctionCall1(int8_numeric, Int64GetDatum(value));
}

bool is_less(Datum a, Datum b) {
    return DatumGetBool(DirectFunctionCall2(numeric_lt, a, b));
}

// The constant in units of the column's last digit, rounded down; far away ones are just beyond what a column
// can have.
ValueRange range_of_numerics(const RangeCondition* condition, Datum constant) {
    if (is_nan(constant)) return range_beside_nan(condition->comparison);
    int64 unit = 1;
    for (int i = 0; i < condition->scale; i++) unit *= 10;
    if (is_less(numeric_from(kMostDecimal), constant))
        return range_of_decimals(condition->comparison, kMostDecimal, true);
    if (is_less(constant, numeric_from(-kMostDecimal)))
        return range_of_decimals(condition->comparison, -kMostDecimal - 1, true);
    Datum scaled = DirectFunctionCall2(numeric_mul, constant, numeric_from(unit));
    Datum whole = DirectFunctionCall1(numeric_floor, scaled);
    if (is_less(numeric_from(kMostDecimal), whole))
        return range_of_decimals(condition->comparison, kMostDecimal, true);
    if (is_less(whole, numeric_from(-kMostDecimal)))
        return range_of_decimals(condition->comparison, -kMostDecimal - 1, true);
    int64 number = DatumGetInt64(DirectFunctionCall1(numeric_int8, whole));
    return range_of_decimals(condition->comparison, number, is_less(whole, scaled));
}

}  // namespace

int64 ordered_integer(double value) {
    if (std::isnan(value)) return PG_INT64_MAX;
    int64 bits = std::bit_cast<int64>(value + 0.0);  // -0 + 0 is +0
    return bits < 0 ? bits ^ PG_INT64_MAX : bits;
}

bool find_range_condition(const Node* clause, bool wants_numerics, RangeCondition* found) {
    if (!IsA(clause, OpExpr)) return false;
    const auto* op = reinterpret_cast<const OpExpr*>(clause);
    OperatorEncoding encoding;
    if (list_length(op->args) != 2 || !find_operator_encoding(op->opno, op->inputcollid, &encoding))
        return false;
    const Expr* left = strip_relabelling(linitial(op->args));
    const Expr* right = strip_relabelling(lsecond(op->args));
    bool swapped = is_constant(left);
    if (!is_column(swapped ? right : left) || !is_constant(swapped ? left : right)) return false;
    const auto* column = reinterpret_cast<const Var*>(swapped ? right : left);
    found->attribute = column->varattno;
    found->constant = static_cast<Expr*>(swapped ? linitial(op->args) : lsecond(op->args));
    found->comparison = swapped ? commuted(encoding.comparison) : encoding.comparison;
    found->column_type = swapped ? encoding.right_type : encoding.left_type;
    found->constant_type = swapped ? encoding.left_type : encoding.right_type;
    found->scale = 0;
    if (encoding.left_type == NUMERICOID && encoding.right_type == NUMERICOID) {
        found->scale = column->vartype == NUMERICOID ? decimal_scale(column->vartypmod) : -1;
        return wants_numerics && found->scale >= 0;
    }
    return is_range_type(encoding.left_type) && is_range_type(encoding.right_type);
}

bool is_number_column(Oid type) {
    return type == NUMERICOID || is_range_type(type);
}

ValueRange range_of(const RangeCondition* condition, Datum constant) {
    Oid column_type = condition->column_type, constant_type = condition->constant_type;
    if (constant_type == NUMERICOID) return range_of_numerics(condition, constant);
    if (column_type == DATEOID && constant_type == TIMESTAMPOID)
        return range_of_dates(condition->comparison, DatumGetTimestamp(constant));
    if (column_type == TIMESTAMPOID && constant_type == DATEOID)
        return range_of_timestamps(condition->comparison, DatumGetDateADT(constant));
    return range_of_integers(condition->comparison, integer_of(constant_type, constant));
}

}  // namespace gpujoin
