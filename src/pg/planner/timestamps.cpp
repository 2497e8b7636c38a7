// x + i becomes CASE WHEN x > latest THEN 'infinity' WHEN x < earliest THEN '-infinity' ELSE x + i END. The
// length of a month varies, and that of a day where the clock is changed; sums that are too close to the ends
// to tell are computed.
#include "pg/planner/timestamps.h"

#include <algorithm>

#include "pg/compat.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_type.h"
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
constexpr double kUsecsPerMonth = 30.436875 * USECS_PER_DAY;  // 400 years are 146097 days
constexpr double kMonthTolerance = 8.0 * USECS_PER_DAY;
constexpr double kDayTolerance = 3.0 * USECS_PER_HOUR;

// +1 for a sum, -1 for a difference, 0 for everything else.
int direction(Oid function) {
    switch (function) {
        case F_DATE_PL_INTERVAL:
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMPTZ_PL_INTERVAL:
            return 1;
        case F_DATE_MI_INTERVAL:
        case F_TIMESTAMP_MI_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            return -1;
        default:
            return 0;
    }
}

double microseconds(const Interval* interval) {
    return interval->month * kUsecsPerMonth + interval->day * static_cast<double>(USECS_PER_DAY) +
           static_cast<double>(interval->time);
}

Expr* constant(Oid type, int64 timestamp) {
    if (type != DATEOID)
        return reinterpret_cast<Expr*>(
            makeConst(type, -1, InvalidOid, sizeof(int64), Int64GetDatum(timestamp), false, FLOAT8PASSBYVAL));
    auto days = static_cast<DateADT>(timestamp / USECS_PER_DAY);
    return reinterpret_cast<Expr*>(
        makeConst(type, -1, InvalidOid, sizeof(DateADT), DateADTGetDatum(days), false, true));
}

// A limit for the other operand: `end` less the shift, but within the timestamps.
int64 limit_for(int64 end, double shift) {
    double limit = static_cast<double>(end) - shift;
    return limit <= static_cast<double>(MIN_TIMESTAMP)   ? MIN_TIMESTAMP
           : limit >= static_cast<double>(END_TIMESTAMP) ? END_TIMESTAMP - 1
                                                         : static_cast<int64>(limit);
}

CaseWhen* when_beyond(Expr* operand, int strategy, int64 limit, Oid type, int64 infinity) {
    Oid operand_type = exprType(reinterpret_cast<Node*>(operand));
    Oid opno = get_opfamily_member(kDateTimeFamily, operand_type, operand_type, static_cast<int16>(strategy));
    CaseWhen* when = makeNode(CaseWhen);
    when->expr =
        make_opclause(opno, BOOLOID, false, operand, constant(operand_type, limit), InvalidOid, InvalidOid);
    when->result = constant(type, infinity);
    when->location = -1;
    return when;
}

// A sum with an interval constant: +1, a difference: -1. 0 for everything else.
int direction(const Node* node) {
    if (!is_opclause(node)) return 0;
    auto* sum = reinterpret_cast<const OpExpr*>(node);
    if (list_length(sum->args) != 2 || !IsA(lsecond(sum->args), Const)) return 0;
    return lsecond_node(Const, sum->args)->constisnull ? 0 : direction(get_opcode(sum->opno));
}

Node* saturate(Node* node, void* context) {
    // The expression of a PlaceHolderVar is evaluated further down, as it is.
    if (!node || IsA(node, PlaceHolderVar)) return node;
    Node* copy = mutate_expression(node, saturate, context);
    int sign = direction(node);
    if (sign == 0) return copy;
    auto* sum = castNode(OpExpr, copy);
    auto* operand = static_cast<Expr*>(linitial(sum->args));
    const Interval* interval = DatumGetIntervalP(lsecond_node(Const, sum->args)->constvalue);
    double shift = sign * microseconds(interval);
    double tolerance = interval->month != 0 ? kMonthTolerance : kDayTolerance;
    CaseExpr* result = makeNode(CaseExpr);
    result->casetype = sum->opresulttype;
    result->args =
        list_make2(when_beyond(operand, BTGreaterStrategyNumber,
                               limit_for(END_TIMESTAMP - 1, shift - tolerance), sum->opresulttype, DT_NOEND),
                   when_beyond(operand, BTLessStrategyNumber, limit_for(MIN_TIMESTAMP, shift + tolerance),
                               sum->opresulttype, DT_NOBEGIN));
    result->defresult = reinterpret_cast<Expr*>(sum);
    result->location = -1;
    return reinterpret_cast<Node*>(result);
}

}  // namespace

Expr* with_saturated_timestamps(Expr* expression) {
    return reinterpret_cast<Expr*>(saturate(reinterpret_cast<Node*>(expression), nullptr));
}

}  // namespace gpujoin
