// l - r < c becomes l < r + c. Both are exact on integers, dates and timestamps: the difference of timestamps
// is a number of microseconds, and intervals compare by theirs (a day has 24 hours and a month 30 days). Only
// timestamps further apart than bigint has microseconds, 292,277 years, are told apart better than by
// PostgreSQL 15, whose difference wraps. On floats and numerics they are not: the difference is rounded, or
// may be infinity less infinity.
#include "pg/planner/distances.h"

#include <cstdlib>

#include "pg/planner/integers.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
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

Expr* plus_microseconds(Expr* timestamp, Oid type, int64 microseconds) {
    auto* interval = static_cast<Interval*>(palloc0(sizeof(Interval)));
    interval->time = microseconds;
    Const* span =
        makeConst(INTERVALOID, -1, InvalidOid, sizeof(Interval), IntervalPGetDatum(interval), false, false);
    return make_opclause(type == TIMESTAMPOID ? kTimestampPlusInterval : kTimestamptzPlusInterval, type,
                         false, timestamp, reinterpret_cast<Expr*>(span), InvalidOid, InvalidOid);
}

// left <strategy> right + limit; NIL where the sum has no form.
List* compare_with_sum(const BoundedDifference* found, int strategy, int64 limit) {
    Oid type = getBaseType(exprType(reinterpret_cast<Node*>(found->left)));
    Expr* sum;
    if (is_integer_minus(found->function))
        sum = integer_sum(found->right, limit);
    else if (found->function != F_DATE_MI)
        sum = plus_microseconds(found->right, type, limit);
    else if (std::abs(limit) <= PG_INT32_MAX)
        sum = plus_days(found->right, limit);
    else
        return NIL;
    Oid family = is_integer_minus(found->function) ? INTEGER_BTREE_FAM_OID : kDateTimeFamily;
    Oid opno = get_opfamily_member(family, type, getBaseType(exprType(reinterpret_cast<Node*>(sum))),
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

List* distance_comparisons(OpExpr* clause) {
    if (list_length(clause->args) != 2) return NIL;
    BoundedDifference found;
    bool distance;
    if (!take_apart(clause, &found, &distance)) return NIL;
    if (!distance) return compare_with_sum(&found, found.strategy, found.limit);
    if (found.strategy == BTLessStrategyNumber)
        found.limit--;
    else if (found.strategy != BTLessEqualStrategyNumber)
        return NIL;
    return list_concat(compare_with_sum(&found, BTGreaterEqualStrategyNumber, -found.limit),
                       compare_with_sum(&found, BTLessEqualStrategyNumber, found.limit));
}

}  // namespace gpujoin
