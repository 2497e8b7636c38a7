// (x >= a AND x <= b) OR (x >= b AND x <= a) becomes x >= the smaller of a and b AND x <= the greater one.
// Both of these are NULL where a or b is: the clause is never true then, unlike comparisons with least(a, b)
// and greatest(a, b), which pass over NULLs.
#include "pg/planner/symmetric.h"

#include <initializer_list>

#include "pg/key_encoding.h"
#include "pg/integers.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace gpujoin {
namespace {

Expr* left_of(const OpExpr* comparison) {
    return static_cast<Expr*>(linitial(comparison->args));
}
Expr* right_of(const OpExpr* comparison) {
    return static_cast<Expr*>(lsecond(comparison->args));
}

Oid type_of(Expr* expression) {
    return getBaseType(exprType(reinterpret_cast<Node*>(expression)));
}

bool is_integer(Expr* expression) {
    return type_of(expression) == INT2OID || type_of(expression) == INT4OID || type_of(expression) == INT8OID;
}

// x >= low AND x <= high
struct Between {
    OpExpr* low;
    OpExpr* high;
};

bool find_comparison(void* node, Comparison wanted, OpExpr** found) {
    if (!is_opclause(node) || list_length(castNode(OpExpr, node)->args) != 2) return false;
    *found = castNode(OpExpr, node);
    OperatorEncoding encoding;
    return find_operator_encoding((*found)->opno, (*found)->inputcollid, &encoding) &&
           encoding.comparison == wanted;
}

bool find_between(void* node, Between* found) {
    if (!is_andclause(node)) return false;
    const List* both = castNode(BoolExpr, node)->args;
    return list_length(both) == 2 && find_comparison(linitial(both), Comparison::GreaterEqual, &found->low) &&
           find_comparison(lsecond(both), Comparison::LessEqual, &found->high);
}

// Whether the second is the first with its bounds changed round.
bool mirrors(const Between& first, const Between& second) {
    for (const OpExpr* other : {first.high, second.low, second.high})
        if (!equal(left_of(first.low), left_of(other)) || first.low->inputcollid != other->inputcollid)
            return false;
    return equal(right_of(first.low), right_of(second.high)) &&
           equal(right_of(first.high), right_of(second.low));
}

// CASE WHEN a <operator> b THEN a WHEN b <operator> a THEN b END
Expr* choose(Oid opno, Oid collation, Expr* a, Expr* b) {
    CaseExpr* choice = makeNode(CaseExpr);
    choice->casetype = type_of(a);
    choice->casecollid = exprCollation(reinterpret_cast<Node*>(a));
    choice->location = -1;
    for (int i = 0; i < 2; i++) {
        CaseWhen* when = makeNode(CaseWhen);
        when->expr =
            make_opclause(opno, BOOLOID, false, i == 0 ? a : b, i == 0 ? b : a, InvalidOid, collation);
        when->result = i == 0 ? a : b;
        when->location = -1;
        choice->args = lappend(choice->args, when);
    }
    choice->defresult = reinterpret_cast<Expr*>(makeNullConst(choice->casetype, -1, choice->casecollid));
    return reinterpret_cast<Expr*>(choice);
}

// x <comparison> the one of a and b that the strategy prefers.
OpExpr* compare_with_choice(const OpExpr* comparison, int strategy, Expr* a, Expr* b) {
    Oid x_type, declared_type;
    op_input_types(comparison->opno, &x_type, &declared_type);
    Oid type = type_of(a);
    Oid family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
    int comparison_strategy = get_op_opfamily_strategy(comparison->opno, family);
    Oid preferring = get_opfamily_member(family, type, type, static_cast<int16>(strategy));
    Oid opno = get_opfamily_member(family, x_type, type, static_cast<int16>(comparison_strategy));
    if (!OidIsValid(preferring) || !OidIsValid(opno)) return nullptr;
    Expr* chosen = choose(preferring, comparison->inputcollid, a, b);
    return castNode(OpExpr, make_opclause(opno, BOOLOID, false, left_of(comparison), chosen, InvalidOid,
                                          comparison->inputcollid));
}

}  // namespace

List* symmetric_comparisons(BoolExpr* clause) {
    Between first, second;
    if (list_length(clause->args) != 2 || !find_between(linitial(clause->args), &first) ||
        !find_between(lsecond(clause->args), &second) || !mirrors(first, second))
        return NIL;
    Expr* a = in_bigint(right_of(first.low));
    Expr* b = in_bigint(right_of(first.high));
    if (type_of(a) != type_of(b)) {
        if (!is_integer(a) || !is_integer(b)) return NIL;
        a = as_bigint(a);
        b = as_bigint(b);
    }
    OpExpr* low = compare_with_choice(first.low, BTLessEqualStrategyNumber, a, b);
    OpExpr* high = compare_with_choice(first.high, BTGreaterEqualStrategyNumber, a, b);
    return low && high ? list_make2(low, high) : NIL;
}

}  // namespace gpujoin
