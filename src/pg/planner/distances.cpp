// l - r < c becomes l < r + c. Both are exact on integers and dates. On floats and numerics they are not: the
// difference is rounded, or may be infinity less infinity.
//
// The difference of timestamps is a number of microseconds, and intervals compare by theirs (a day has 24
// hours and a month 30 days). Timestamps further apart than bigint has microseconds, 292,277 years, are what
// is left: newer cores raise an error, older ones let the difference wrap (see kTimestampDifferencesWrap).
// There the smaller difference may be of the greater timestamp, so the comparison lets such timestamps
// through, as '-infinity', and the condition itself is tested on what it lets through.
//
// No sum here is one that the query has written, and core would raise no error for it. Those that no
// timestamp holds are infinite, or NULL in equations.
#include "pg/planner/distances.h"

#include <cstdlib>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/integers.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace gpujoin {
namespace {

constexpr Oid kDateTimeFamily = 434;
constexpr Oid kIntervalFamily = 1982;
constexpr Oid kDatePlusInteger = 1100;
constexpr Oid kTimestampPlusInterval = 2066;
constexpr Oid kTimestamptzPlusInterval = 1327;
constexpr int64 kMaxLimit = PG_INT64_MAX / 2;

// limit is in the unit of the difference: 1, days or microseconds.
struct BoundedDifference {
    Expr* left;
    Expr* right;
    Oid function;  // that subtracts
    int strategy;
    int64 limit;
};

Oid function_of(const Node* node) {
    if (IsA(node, FuncExpr)) return reinterpret_cast<const FuncExpr*>(node)->funcid;
    return is_opclause(node) ? get_opcode(reinterpret_cast<const OpExpr*>(node)->opno) : InvalidOid;
}

bool subtracts(Oid function) {
    return is_integer_minus(function) || function == F_DATE_MI || function == F_TIMESTAMP_MI ||
           function == F_TIMESTAMPTZ_MI;
}

bool is_integer_abs(Oid function) {
    return function == F_ABS_INT2 || function == F_ABS_INT4 || function == F_ABS_INT8;
}

// Takes `difference <op> constant` apart; *distance: it is the difference without its sign.
bool take_apart(const OpExpr* clause, BoundedDifference* found, bool* distance) {
    auto* difference = static_cast<Node*>(linitial(clause->args));
    auto* limit = static_cast<Node*>(lsecond(clause->args));
    *distance = is_integer_abs(function_of(difference)) && IsA(difference, FuncExpr);
    if (*distance) difference = static_cast<Node*>(linitial(reinterpret_cast<FuncExpr*>(difference)->args));
    if (!is_opclause(difference)) return false;
    found->function = function_of(difference);
    if (!subtracts(found->function)) return false;
    auto* operation = reinterpret_cast<OpExpr*>(difference);
    found->left = static_cast<Expr*>(linitial(operation->args));
    found->right = static_cast<Expr*>(lsecond(operation->args));
    bool is_interval = operation->opresulttype == INTERVALOID;
    found->strategy =
        get_op_opfamily_strategy(clause->opno, is_interval ? kIntervalFamily : INTEGER_BTREE_FAM_OID);
    return found->strategy != 0 &&
           (is_interval ? interval_constant(limit, &found->limit) : integer_constant(limit, &found->limit)) &&
           found->limit <= kMaxLimit && found->limit >= -kMaxLimit;
}

Expr* plus_days(Expr* date, int64 days) {
    Const* count = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(static_cast<int32>(days)),
                             false, true);
    return make_opclause(kDatePlusInteger, DATEOID, false, date, reinterpret_cast<Expr*>(count), InvalidOid,
                         InvalidOid);
}

Expr* timestamp_constant(Oid type, int64 value) {
    return reinterpret_cast<Expr*>(
        makeConst(type, -1, InvalidOid, sizeof(int64), Int64GetDatum(value), false, FLOAT8PASSBYVAL));
}

// Puts CASE WHEN operand <strategy> limit THEN result in front of ELSE otherwise.
Expr* choose(Expr* operand, int strategy, Expr* limit, Expr* result, Expr* otherwise) {
    Oid type = exprType(reinterpret_cast<Node*>(limit));
    CaseWhen* when = makeNode(CaseWhen);
    when->expr = make_opclause(get_opfamily_member(kDateTimeFamily, type, type, static_cast<int16>(strategy)),
                               BOOLOID, false, operand, limit, InvalidOid, InvalidOid);
    when->result = result;
    when->location = -1;
    CaseExpr* choice = makeNode(CaseExpr);
    choice->casetype = exprType(reinterpret_cast<Node*>(result));
    choice->args = list_make1(when);
    choice->defresult = otherwise;
    choice->location = -1;
    return reinterpret_cast<Expr*>(choice);
}

Expr* plus_microseconds(Expr* timestamp, Oid type, int64 microseconds) {
    auto* interval = zeroed<Interval>();
    interval->time = microseconds;
    Const* span =
        makeConst(INTERVALOID, -1, InvalidOid, sizeof(Interval), IntervalPGetDatum(interval), false, false);
    return make_opclause(type == TIMESTAMPOID ? kTimestampPlusInterval : kTimestamptzPlusInterval, type,
                         false, timestamp, reinterpret_cast<Expr*>(span), InvalidOid, InvalidOid);
}

// timestamp + microseconds, with another value where no timestamp is that.
Expr* timestamp_sum_or(Expr* timestamp, Oid type, int64 microseconds, Expr* beyond) {
    bool above = microseconds > 0;
    int64 limit = above ? END_TIMESTAMP - 1 - microseconds : MIN_TIMESTAMP - microseconds;
    return choose(timestamp, above ? BTGreaterStrategyNumber : BTLessStrategyNumber,
                  timestamp_constant(type, limit), beyond, plus_microseconds(timestamp, type, microseconds));
}

// The same, infinite there. The encoder of a column plus a constant sees to that by itself
// (shifted_column.h).
Expr* saturated_sum(Expr* timestamp, Oid type, int64 microseconds, bool is_encoded) {
    if (is_encoded && IsA(timestamp, Var)) return plus_microseconds(timestamp, type, microseconds);
    return timestamp_sum_or(timestamp, type, microseconds,
                            timestamp_constant(type, microseconds > 0 ? DT_NOEND : DT_NOBEGIN));
}

// The expression, but '-infinity' for a timestamp so late that what is left of it less another one may wrap.
Expr* unless_it_wraps(Expr* timestamp, Oid type, Expr* expression) {
    constexpr int64 kFirst = PG_INT64_MAX + MIN_TIMESTAMP + 1;
    return choose(timestamp, BTGreaterEqualStrategyNumber, timestamp_constant(type, kFirst),
                  timestamp_constant(type, DT_NOBEGIN), expression);
}

// left <strategy> right + limit on timestamps.
OpExpr* compare_timestamps(const BoundedDifference* found, int strategy, int64 limit) {
    Oid type = getBaseType(exprType(reinterpret_cast<Node*>(found->left)));
    Expr* left = found->left;
    Expr* sum;
    if (strategy == BTEqualStrategyNumber) {
        Expr* null = reinterpret_cast<Expr*>(makeNullConst(type, -1, InvalidOid));
        sum = timestamp_sum_or(found->right, type, limit, null);
    } else if (!kTimestampDifferencesWrap) {
        sum = saturated_sum(found->right, type, limit, true);
    } else if (strategy < BTEqualStrategyNumber) {
        sum = saturated_sum(found->right, type, limit, true);
        left = unless_it_wraps(left, type, left);
    } else {
        sum = unless_it_wraps(found->right, type, saturated_sum(found->right, type, limit, false));
    }
    Oid opno = get_opfamily_member(kDateTimeFamily, type, type, static_cast<int16>(strategy));
    return castNode(OpExpr, make_opclause(opno, BOOLOID, false, left, sum, InvalidOid, InvalidOid));
}

// The sum of a date and days, NULL where no date is that.
Expr* date_or_null(Expr* date, int64 days) {
    constexpr int64 kFirst = -int64{POSTGRES_EPOCH_JDATE};
    constexpr int64 kLast = DATE_END_JULIAN - int64{POSTGRES_EPOCH_JDATE} - 1;
    bool above = days > 0;
    int64 limit = above ? kLast - days : kFirst - days;
    Expr* last = reinterpret_cast<Expr*>(makeConst(
        DATEOID, -1, InvalidOid, sizeof(DateADT), DateADTGetDatum(static_cast<DateADT>(limit)), false, true));
    return choose(date, above ? BTGreaterStrategyNumber : BTLessStrategyNumber, last,
                  reinterpret_cast<Expr*>(makeNullConst(DATEOID, -1, InvalidOid)), plus_days(date, days));
}

// left <strategy> right + limit; NIL where the sum has no form.
List* compare_with_sum(const BoundedDifference* found, int strategy, int64 limit) {
    bool is_integer = is_integer_minus(found->function);
    if (!is_integer && found->function != F_DATE_MI)
        return list_make1(compare_timestamps(found, strategy, limit));
    Expr* sum;
    if (is_integer)
        sum = integer_sum(found->right, limit);
    else if (std::abs(limit) > PG_INT32_MAX)
        return NIL;
    else
        sum = strategy == BTEqualStrategyNumber ? date_or_null(found->right, limit)
                                                : plus_days(found->right, limit);
    Oid family = is_integer ? INTEGER_BTREE_FAM_OID : kDateTimeFamily;
    Oid opno = get_opfamily_member(family, getBaseType(exprType(reinterpret_cast<Node*>(found->left))),
                                   getBaseType(exprType(reinterpret_cast<Node*>(sum))),
                                   static_cast<int16>(strategy));
    return list_make1(make_opclause(opno, BOOLOID, false, found->left, sum, InvalidOid, InvalidOid));
}

}  // namespace

bool interval_constant(const Node* node, int64* microseconds) {
    if (!IsA(node, Const)) return false;
    const Const* constant = reinterpret_cast<const Const*>(node);
    if (constant->constisnull || constant->consttype != INTERVALOID) return false;
    const Interval* interval = DatumGetIntervalP(constant->constvalue);
    int64 days = interval->day + int64{interval->month} * DAYS_PER_MONTH;
    return !__builtin_mul_overflow(days, USECS_PER_DAY, microseconds) &&
           !__builtin_add_overflow(*microseconds, interval->time, microseconds);
}

List* distance_comparisons(OpExpr* clause, bool* is_exact) {
    *is_exact = true;
    if (list_length(clause->args) != 2) return NIL;
    BoundedDifference found;
    bool distance;
    if (!take_apart(clause, &found, &distance)) return NIL;
    if (found.function == F_TIMESTAMP_MI || found.function == F_TIMESTAMPTZ_MI)
        // Beside an infinite time a sum that is at its end compares as equal; the difference is infinite.
        *is_exact = found.strategy == BTEqualStrategyNumber ||
                    (!kTimestampDifferencesWrap &&
                     (found.strategy == BTLessStrategyNumber || found.strategy == BTGreaterStrategyNumber));
    if (!distance) return compare_with_sum(&found, found.strategy, found.limit);
    if (found.strategy == BTLessStrategyNumber)
        found.limit--;
    else if (found.strategy != BTLessEqualStrategyNumber)
        return NIL;
    return list_concat(compare_with_sum(&found, BTGreaterEqualStrategyNumber, -found.limit),
                       compare_with_sum(&found, BTLessEqualStrategyNumber, found.limit));
}

}  // namespace gpujoin
