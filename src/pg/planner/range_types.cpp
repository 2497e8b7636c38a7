// A range becomes two keys: its lower and its upper bound, both taken as included; a missing bound is the
// least or the greatest value of the element type, and an empty range has NULL keys, which match nothing.
//
// Ranges of integers have a canonical form, [lower, upper), so that upper - 1 is included and the keys say
// all there is to say. Their keys are bigint, where int4range's missing bounds are out of every element's
// way, and int8range's are right even for the extreme elements.
#include "pg/planner/range_types.h"

extern "C" {
#include "access/stratnum.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

constexpr Oid kInt8Minus = 685;
constexpr Oid kNumericFamily = 1988;
constexpr Oid kDateTimeFamily = 434;

struct RangeRow {
    Oid range_type;
    Oid element_type;
    Oid key_type;
    Oid family;  // b-tree family of the key type
    const char* least;
    const char* greatest;
};

constexpr const char* kLeastBigint = "-9223372036854775808";
constexpr const char* kGreatestBigint = "9223372036854775807";

constexpr RangeRow kRanges[] = {
    {INT4RANGEOID, INT4OID, INT8OID, INTEGER_BTREE_FAM_OID, kLeastBigint, kGreatestBigint},
    {INT8RANGEOID, INT8OID, INT8OID, INTEGER_BTREE_FAM_OID, kLeastBigint, kGreatestBigint},
    {NUMRANGEOID, NUMERICOID, NUMERICOID, kNumericFamily, "-Infinity", "NaN"},
    {DATERANGEOID, DATEOID, DATEOID, kDateTimeFamily, "-infinity", "infinity"},
    {TSRANGEOID, TIMESTAMPOID, TIMESTAMPOID, kDateTimeFamily, "-infinity", "infinity"},
    {TSTZRANGEOID, TIMESTAMPTZOID, TIMESTAMPTZOID, kDateTimeFamily, "-infinity", "infinity"},
};

const RangeRow* find_row(Expr* range) {
    Oid type = getBaseType(exprType(reinterpret_cast<Node*>(range)));
    for (const RangeRow& row : kRanges)
        if (row.range_type == type) return &row;
    return nullptr;
}

bool is_integer(const RangeRow* row) {
    return row->key_type == INT8OID;
}

Expr* call(Oid function, Oid result_type, Expr* argument) {
    return reinterpret_cast<Expr*>(makeFuncExpr(function, result_type, list_make1(argument), InvalidOid,
                                                InvalidOid, COERCE_EXPLICIT_CALL));
}

Expr* literal(Oid type, const char* text) {
    Oid input, parameter;
    int16 length;
    bool by_value;
    getTypeInputInfo(type, &input, &parameter);
    get_typlenbyval(type, &length, &by_value);
    Datum value = OidInputFunctionCall(input, const_cast<char*>(text), parameter, -1);
    return reinterpret_cast<Expr*>(makeConst(type, -1, InvalidOid, length, value, false, by_value));
}

// CASE WHEN NOT isempty(range) THEN coalesce(bound, missing) END
Expr* key_unless_empty(const RangeRow* row, Expr* range, Expr* bound, const char* missing) {
    CoalesceExpr* value = makeNode(CoalesceExpr);
    value->coalescetype = row->key_type;
    value->args = list_make2(bound, literal(row->key_type, missing));
    value->location = -1;
    CaseWhen* when = makeNode(CaseWhen);
    when->expr = makeBoolExpr(NOT_EXPR, list_make1(call(F_ISEMPTY_ANYRANGE, BOOLOID, range)), -1);
    when->result = reinterpret_cast<Expr*>(value);
    when->location = -1;
    CaseExpr* key = makeNode(CaseExpr);
    key->casetype = row->key_type;
    key->args = list_make1(when);
    key->defresult = reinterpret_cast<Expr*>(makeNullConst(row->key_type, -1, InvalidOid));
    key->location = -1;
    return reinterpret_cast<Expr*>(key);
}

Expr* bound_of(const RangeRow* row, Expr* range, Oid function) {
    Expr* bound = call(function, row->element_type, range);
    return row->element_type == INT4OID ? call(F_INT8_INT4, INT8OID, bound) : bound;
}

Expr* lower_key(const RangeRow* row, Expr* range) {
    return key_unless_empty(row, range, bound_of(row, range, F_LOWER_ANYRANGE), row->least);
}

Expr* upper_key(const RangeRow* row, Expr* range) {
    Expr* bound = bound_of(row, range, F_UPPER_ANYRANGE);
    if (is_integer(row))
        bound =
            make_opclause(kInt8Minus, INT8OID, false, bound, literal(INT8OID, "1"), InvalidOid, InvalidOid);
    return key_unless_empty(row, range, bound, row->greatest);
}

Expr* compare(const RangeRow* row, Expr* left, int strategy, Expr* right) {
    Oid left_type = getBaseType(exprType(reinterpret_cast<Node*>(left)));
    Oid right_type = getBaseType(exprType(reinterpret_cast<Node*>(right)));
    Oid opno = get_opfamily_member(row->family, left_type, right_type, static_cast<int16>(strategy));
    if (!OidIsValid(opno)) return nullptr;
    return make_opclause(opno, BOOLOID, false, left, right, InvalidOid, InvalidOid);
}

List* both(Expr* first, Expr* second) {
    return first && second ? list_make2(first, second) : NIL;
}

}  // namespace

List* bound_comparisons(OpExpr* clause, bool* exact) {
    Expr* left = static_cast<Expr*>(linitial(clause->args));
    Expr* right = static_cast<Expr*>(lsecond(clause->args));
    bool element_is_left = clause->opno == OID_RANGE_ELEM_CONTAINED_OP;
    const RangeRow* row = find_row(element_is_left ? right : left);
    if (!row) return NIL;
    *exact = is_integer(row);
    constexpr int kNotAbove = BTLessEqualStrategyNumber;
    constexpr int kNotBelow = BTGreaterEqualStrategyNumber;
    switch (clause->opno) {
        case OID_RANGE_CONTAINS_ELEM_OP:
            return both(compare(row, lower_key(row, left), kNotAbove, right),
                        compare(row, upper_key(row, left), kNotBelow, right));
        case OID_RANGE_ELEM_CONTAINED_OP:
            return both(compare(row, left, kNotBelow, lower_key(row, right)),
                        compare(row, left, kNotAbove, upper_key(row, right)));
        case OID_RANGE_OVERLAP_OP:
            return both(compare(row, lower_key(row, left), kNotAbove, upper_key(row, right)),
                        compare(row, upper_key(row, left), kNotBelow, lower_key(row, right)));
        default:
            return NIL;
    }
}

}  // namespace gpujoin
