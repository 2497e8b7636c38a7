// l + a < r + b becomes l + (a - b) < r: one constant, so that a band has one build key and two probe keys.
// Beside int2 and int4 the constant is added in bigint, which holds every sum. Beside bigint:
//
//   in ranges      the encoder of a column plus a constant saturates. A sum that may exceed all bigints is
//                  compared by >= or < (the others with one less), one that may be below them all by <= or >
//                  (with one more): so the extreme value answers as the true sum would.
//   in equalities  the key is NULL where the sum is no bigint, which then equals nothing.
#include "pg/planner/overflow_free.h"

#include "pg/integers.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

constexpr int64 kMaxSmallOffset = PG_INT64_MAX / 2;  // added to any int4, it stays a bigint

// base + offset
struct Sum {
    Expr* base;
    int64 offset;
};

// Casts take their argument as it is, which may be a domain.
Oid type_of(const Expr* expression) {
    return getBaseType(exprType(reinterpret_cast<const Node*>(expression)));
}

bool is_integer_plus(Oid function) {
    switch (function) {
        case F_INT2PL:
        case F_INT4PL:
        case F_INT8PL:
        case F_INT24PL:
        case F_INT42PL:
        case F_INT28PL:
        case F_INT82PL:
        case F_INT48PL:
        case F_INT84PL:
            return true;
        default:
            return false;
    }
}

// The expression that a cast widens to bigint, or nullptr.
Expr* widened(Expr* expression) {
    if (!IsA(expression, FuncExpr)) return nullptr;
    const FuncExpr* cast = reinterpret_cast<FuncExpr*>(expression);
    bool widens = cast->funcid == F_INT8_INT2 || cast->funcid == F_INT8_INT4;
    return widens ? static_cast<Expr*>(linitial(cast->args)) : nullptr;
}

// Takes one constant off a sum. False when it has none.
bool take_constant(Sum* sum) {
    if (!is_opclause(sum->base)) return false;
    const OpExpr* operation = castNode(OpExpr, sum->base);
    if (list_length(operation->args) != 2) return false;
    Oid function = get_opcode(operation->opno);
    Expr* left = static_cast<Expr*>(linitial(operation->args));
    Expr* right = static_cast<Expr*>(lsecond(operation->args));
    int64 value;
    if (is_integer_minus(function) && integer_constant(right, &value)) {
        sum->base = left;
        return !pg_sub_s64_overflow(sum->offset, value, &sum->offset);
    }
    if (!is_integer_plus(function)) return false;
    sum->base = integer_constant(right, &value) ? left : right;
    return (integer_constant(right, &value) || integer_constant(left, &value)) &&
           !pg_add_s64_overflow(sum->offset, value, &sum->offset);
}

// Takes constants and casts off a sum, from the outside in.
Sum take_apart(Expr* expression) {
    Sum sum = {expression, 0};
    for (;;) {
        Sum inner = sum;
        if (Expr* operand = widened(sum.base))
            sum.base = operand;
        else if (take_constant(&inner))
            sum = inner;
        else
            return sum;
    }
}

// base + offset, NULL where that is no bigint.
Expr* add_or_null(Expr* base, int64 offset) {
    CaseWhen* fits = makeNode(CaseWhen);
    fits->expr = reinterpret_cast<Expr*>(
        offset > 0 ? compare_integers(base, BTLessEqualStrategyNumber, bigint(PG_INT64_MAX - offset))
                   : compare_integers(base, BTGreaterEqualStrategyNumber, bigint(PG_INT64_MIN - offset)));
    fits->result = integer_sum(base, offset);
    fits->location = -1;
    CaseExpr* key = makeNode(CaseExpr);
    key->casetype = INT8OID;
    key->args = list_make1(fits);
    key->defresult = reinterpret_cast<Expr*>(makeNullConst(INT8OID, -1, InvalidOid));
    key->location = -1;
    return reinterpret_cast<Expr*>(key);
}

// base + offset <range> right, on bigint.
OpExpr* compare_saturated(Expr* base, int64 offset, int strategy, Expr* right) {
    if (offset > 0 && strategy == BTGreaterStrategyNumber)
        return compare_integers(integer_sum(base, offset - 1), BTGreaterEqualStrategyNumber, right);
    if (offset > 0 && strategy == BTLessEqualStrategyNumber)
        return compare_integers(integer_sum(base, offset - 1), BTLessStrategyNumber, right);
    if (offset < 0 && strategy == BTLessStrategyNumber)
        return compare_integers(integer_sum(base, offset + 1), BTLessEqualStrategyNumber, right);
    if (offset < 0 && strategy == BTGreaterEqualStrategyNumber)
        return compare_integers(integer_sum(base, offset + 1), BTGreaterStrategyNumber, right);
    return compare_integers(integer_sum(base, offset), strategy, right);
}

bool is_small(const Sum& sum) {
    return type_of(sum.base) != INT8OID;
}

// Operators of the integer family and their <>; false for all others.
bool integer_strategy(Oid opno, int* strategy) {
    *strategy = get_op_opfamily_strategy(opno, INTEGER_BTREE_FAM_OID);
    return *strategy != 0 || get_op_opfamily_strategy(get_negator(opno), INTEGER_BTREE_FAM_OID) != 0;
}

// The comparison with its constants in one place; nullptr when it has no such form without overflow.
OpExpr* with_one_constant(OpExpr* clause, int strategy) {
    Expr* left_argument = static_cast<Expr*>(linitial(clause->args));
    Expr* right_argument = static_cast<Expr*>(lsecond(clause->args));
    Sum left = take_apart(left_argument);
    Sum right = take_apart(right_argument);
    int64 offset;
    if ((left.base == left_argument && right.base == right_argument) ||
        pg_sub_s64_overflow(right.offset, left.offset, &offset) || offset > kMaxSmallOffset ||
        offset < -kMaxSmallOffset)
        return clause;
    if (offset == 0 || is_small(left))
        return compare_integers(integer_sum(left.base, -offset), strategy, right.base);
    bool range = strategy != 0 && strategy != BTEqualStrategyNumber;
    if (is_small(right) && !(range && IsA(left.base, Var)))
        return compare_integers(left.base, strategy, integer_sum(right.base, offset));
    if (range) return compare_saturated(left.base, -offset, strategy, right.base);
    return strategy == 0 ? nullptr : compare_integers(add_or_null(left.base, -offset), strategy, right.base);
}

// The comparison with all arithmetic in bigint.
OpExpr* compare_in_bigint(OpExpr* clause) {
    auto* left = static_cast<Expr*>(linitial(clause->args));
    auto* right = static_cast<Expr*>(lsecond(clause->args));
    Expr* wide_left = in_bigint(left);
    Expr* wide_right = in_bigint(right);
    if (wide_left == left && wide_right == right) return clause;
    int strategy = get_op_opfamily_strategy(clause->opno, INTEGER_BTREE_FAM_OID);
    return compare_integers(wide_left, strategy, wide_right);
}

}  // namespace

OpExpr* without_overflow(OpExpr* clause) {
    if (IsA(linitial(clause->args), Var) && IsA(lsecond(clause->args), Var)) return clause;
    int strategy;
    if (!integer_strategy(clause->opno, &strategy)) return clause;
    clause = with_one_constant(clause, strategy);
    return clause && strategy != BTEqualStrategyNumber ? compare_in_bigint(clause) : clause;
}

}  // namespace gpujoin
