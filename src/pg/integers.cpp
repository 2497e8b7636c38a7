// See integers.h.
#include "pg/integers.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

// Operators on bigint, which PostgreSQL's headers do not name.
constexpr Oid kPlus = 684;
constexpr Oid kMinus = 685;
constexpr Oid kTimes = 686;
constexpr Oid kDivide = 687;
constexpr Oid kModulo = 439;
constexpr Oid kNegate = 484;
constexpr Oid kAbsolute = 473;

struct Operation {
    Oid function;
    Oid on_bigint;
};

constexpr Operation kOperations[] = {
    {F_INT2PL, kPlus},      {F_INT4PL, kPlus},       {F_INT24PL, kPlus},      {F_INT42PL, kPlus},
    {F_INT28PL, kPlus},     {F_INT82PL, kPlus},      {F_INT48PL, kPlus},      {F_INT84PL, kPlus},
    {F_INT8PL, kPlus},      {F_INT2MI, kMinus},      {F_INT4MI, kMinus},      {F_INT24MI, kMinus},
    {F_INT42MI, kMinus},    {F_INT28MI, kMinus},     {F_INT82MI, kMinus},     {F_INT48MI, kMinus},
    {F_INT84MI, kMinus},    {F_INT8MI, kMinus},      {F_INT2MUL, kTimes},     {F_INT4MUL, kTimes},
    {F_INT24MUL, kTimes},   {F_INT42MUL, kTimes},    {F_INT28MUL, kTimes},    {F_INT82MUL, kTimes},
    {F_INT48MUL, kTimes},   {F_INT84MUL, kTimes},    {F_INT8MUL, kTimes},     {F_INT2DIV, kDivide},
    {F_INT4DIV, kDivide},   {F_INT24DIV, kDivide},   {F_INT42DIV, kDivide},   {F_INT28DIV, kDivide},
    {F_INT82DIV, kDivide},  {F_INT48DIV, kDivide},   {F_INT84DIV, kDivide},   {F_INT8DIV, kDivide},
    {F_INT2MOD, kModulo},   {F_INT4MOD, kModulo},    {F_INT8MOD, kModulo},    {F_INT2UM, kNegate},
    {F_INT4UM, kNegate},    {F_INT8UM, kNegate},     {F_INT2ABS, kAbsolute},  {F_INT4ABS, kAbsolute},
    {F_INT8ABS, kAbsolute}, {F_ABS_INT2, kAbsolute}, {F_ABS_INT4, kAbsolute}, {F_ABS_INT8, kAbsolute},
};

Oid operator_on_bigint(Oid function) {
    for (const Operation& operation : kOperations)
        if (operation.function == function) return operation.on_bigint;
    return InvalidOid;
}

bool is_widening_cast(Oid function) {
    return function == F_INT8_INT2 || function == F_INT8_INT4 || function == F_INT4_INT2;
}

// Casts take their argument as it is, which may be a domain.
Oid type_of(const Expr* expression) {
    return getBaseType(exprType(reinterpret_cast<const Node*>(expression)));
}

}  // namespace

bool integer_constant(const void* node, int64* value) {
    if (!IsA(node, Const)) return false;
    const Const* constant = static_cast<const Const*>(node);
    if (constant->constisnull) return false;
    Oid type = getBaseType(constant->consttype);
    *value = type == INT2OID   ? DatumGetInt16(constant->constvalue)
             : type == INT4OID ? DatumGetInt32(constant->constvalue)
                               : DatumGetInt64(constant->constvalue);
    return true;
}

bool is_integer_minus(Oid function) {
    switch (function) {
        case F_INT2MI:
        case F_INT4MI:
        case F_INT8MI:
        case F_INT24MI:
        case F_INT42MI:
        case F_INT28MI:
        case F_INT82MI:
        case F_INT48MI:
        case F_INT84MI:
            return true;
        default:
            return false;
    }
}

List* call_arguments(const void* node, Oid* function) {
    if (IsA(node, OpExpr)) {
        *function = get_opcode(static_cast<const OpExpr*>(node)->opno);
        return static_cast<const OpExpr*>(node)->args;
    }
    if (!IsA(node, FuncExpr)) return NIL;
    *function = static_cast<const FuncExpr*>(node)->funcid;
    return static_cast<const FuncExpr*>(node)->args;
}

Expr* bigint(int64 value) {
    return reinterpret_cast<Expr*>(
        makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(value), false, FLOAT8PASSBYVAL));
}

Expr* as_bigint(Expr* expression) {
    if (type_of(expression) == INT8OID) return expression;
    int64 value;
    if (integer_constant(expression, &value)) return bigint(value);
    Oid cast = type_of(expression) == INT2OID ? F_INT8_INT2 : F_INT8_INT4;
    return reinterpret_cast<Expr*>(
        makeFuncExpr(cast, INT8OID, list_make1(expression), InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST));
}

Expr* integer_sum(Expr* base, int64 offset) {
    if (offset == 0) return base;
    bool minus = offset < 0 && offset != PG_INT64_MIN;
    return make_opclause(minus ? kMinus : kPlus, INT8OID, false, as_bigint(base),
                         bigint(minus ? -offset : offset), InvalidOid, InvalidOid);
}

OpExpr* compare_integers(Expr* left, int strategy, Expr* right) {
    Oid opno = get_opfamily_member(INTEGER_BTREE_FAM_OID, type_of(left), type_of(right),
                                   static_cast<int16>(strategy == 0 ? BTEqualStrategyNumber : strategy));
    if (strategy == 0) opno = get_negator(opno);
    return castNode(OpExpr, make_opclause(opno, BOOLOID, false, left, right, InvalidOid, InvalidOid));
}

Expr* in_bigint(Expr* expression) {
    Oid function = InvalidOid;
    List* arguments = call_arguments(expression, &function);
    Oid opno = operator_on_bigint(function);
    if (!OidIsValid(opno) && !is_widening_cast(function)) return expression;
    Expr* first = in_bigint(static_cast<Expr*>(linitial(arguments)));
    if (!OidIsValid(opno)) return first == linitial(arguments) ? expression : first;
    Expr* second = nullptr;
    if (list_length(arguments) == 2) second = as_bigint(in_bigint(static_cast<Expr*>(lsecond(arguments))));
    return make_opclause(opno, INT8OID, false, as_bigint(first), second, InvalidOid, InvalidOid);
}

}  // namespace gpujoin
