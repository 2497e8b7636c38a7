// See range_types.h. What makes the comparisons exact, for bounds that are left out, missing or of empty
// ranges, is the encoding of the keys (executor/encode_range.cpp).
#include "pg/planner/range_types.h"

extern "C" {
#include "access/nbtree.h"
#include "catalog/pg_operator.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace gpujoin {
namespace {

constexpr Comparison kNotAbove = Comparison::LessEqual;
constexpr Comparison kNotBelow = Comparison::GreaterEqual;
constexpr KeyPart kElement = KeyPart::Value;
constexpr KeyPart kLower = KeyPart::LowerBound;
constexpr KeyPart kUpper = KeyPart::UpperBound;

struct BoundComparison {
    KeyPart left;
    Comparison comparison;
    KeyPart right;
};

struct RangeOperator {
    Oid opno;
    BoundComparison comparisons[2];
};

constexpr RangeOperator kOperators[] = {
    {OID_RANGE_CONTAINS_ELEM_OP, {{kLower, kNotAbove, kElement}, {kUpper, kNotBelow, kElement}}},
    {OID_RANGE_ELEM_CONTAINED_OP, {{kElement, kNotBelow, kLower}, {kElement, kNotAbove, kUpper}}},
    {OID_RANGE_OVERLAP_OP, {{kLower, kNotAbove, kUpper}, {kUpper, kNotBelow, kLower}}},
    {OID_RANGE_CONTAINS_OP, {{kLower, kNotAbove, kLower}, {kUpper, kNotBelow, kUpper}}},
    {OID_RANGE_CONTAINED_OP, {{kLower, kNotBelow, kLower}, {kUpper, kNotAbove, kUpper}}},
};

const RangeOperator* find_operator(Oid opno) {
    for (const RangeOperator& row : kOperators)
        if (row.opno == opno) return &row;
    return nullptr;
}

// None when the range's own order of its elements is not one that can be encoded.
KeyEncoding encoding_of_bounds(Oid range_type) {
    const TypeCacheEntry* range = lookup_type_cache(range_type, TYPECACHE_RANGE_INFO);
    if (!range->rngelemtype) return KeyEncoding::None;
    Oid element = getBaseType(range->rngelemtype->type_id);
    Oid family = lookup_type_cache(element, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
    Oid less = get_opfamily_member(family, element, element, BTLessStrategyNumber);
    OperatorEncoding found;
    if (range->rng_cmp_proc_finfo.fn_oid != get_opfamily_proc(family, element, element, BTORDER_PROC) ||
        !OidIsValid(less) || !find_operator_encoding(less, range->rng_collation, &found))
        return KeyEncoding::None;
    switch (found.encoding) {
        case KeyEncoding::Int16:
        case KeyEncoding::Int32:
            return KeyEncoding::BoundInt64;
        case KeyEncoding::Int64:
        case KeyEncoding::Float32:
        case KeyEncoding::Float64:
            return KeyEncoding::BoundInt128;
        case KeyEncoding::NumericOrder:
            return KeyEncoding::BoundNumeric;
        default:
            return KeyEncoding::None;
    }
}

}  // namespace

bool find_bound_terms(const OpExpr* clause, PlanTerm terms[2]) {
    const RangeOperator* row = find_operator(clause->opno);
    if (!row) return false;
    bool range_is_left = row->comparisons[0].left != kElement;
    auto* range = static_cast<Node*>(range_is_left ? linitial(clause->args) : lsecond(clause->args));
    KeyEncoding encoding = encoding_of_bounds(getBaseType(exprType(range)));
    for (int i = 0; i < 2; i++) {
        const BoundComparison& comparison = row->comparisons[i];
        terms[i] = {encoding, comparison.comparison, comparison.left, comparison.right};
    }
    return encoding != KeyEncoding::None;
}

}  // namespace gpujoin
