// See refused_conditions.h. It asks what clauses.cpp asks, in the same order, of a condition that was
// refused.
#include "pg/planner/refused_conditions.h"

#include "pg/compat.h"
#include "pg/key_encoding.h"
#include "pg/planner/range_types.h"

extern "C" {
#include "catalog/pg_proc.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

bool is_volatile(Oid function, void* found) {
    if (func_volatile(function) != PROVOLATILE_VOLATILE) return false;
    *static_cast<Oid*>(found) = function;
    return true;
}

bool find_volatile(Node* node, void* found) {
    if (!node) return false;
    return check_functions_in_node(node, is_volatile, found) || walk_expression(node, find_volatile, found);
}

const char* volatile_function(Node* condition) {
    Oid found = InvalidOid;
    if (!find_volatile(condition, &found)) return "a function";  // nextval(), which is a node of its own
    return psprintf("%s()", quote_identifier(get_func_name(found)));
}

// What the planner's estimates take an operator for, also one of a type that we know nothing of.
bool is_equality(Oid opno, Node* left) {
    Oid type = exprType(left);
    return op_hashjoinable(opno, type) || op_mergejoinable(opno, type) || get_oprrest(opno) == F_EQSEL;
}

bool is_order(Oid opno) {
    switch (get_oprrest(opno)) {
        case F_SCALARLTSEL:
        case F_SCALARLESEL:
        case F_SCALARGTSEL:
        case F_SCALARGESEL:
            return true;
        default:
            return false;
    }
}

Refusal of_comparison(OpExpr* clause) {
    auto* condition = reinterpret_cast<Node*>(clause);
    auto* left = static_cast<Node*>(linitial(clause->args));
    const char* type = format_type_be(exprType(left));
    OperatorEncoding found;
    if (find_operator_encoding(clause->opno, clause->inputcollid, &found)) {
        if (found.comparison == Comparison::NotEqual) return {Reason::OnlyUnequal, condition};
        return {Reason::MayFail, condition};
    }
    const char* collation =
        OidIsValid(clause->inputcollid) ? get_collation_name(clause->inputcollid) : nullptr;
    if (collation) collation = psprintf("\"%s\"", collation);
    if (collation && !get_collation_isdeterministic(clause->inputcollid))
        return {Reason::NondeterministicCollation, condition, collation};
    if (op_volatile(clause->opno) == PROVOLATILE_STABLE) return {Reason::TimeZone, condition};
    if (is_equality(clause->opno, left)) return {Reason::EqualityType, condition, type};
    if (is_order(clause->opno) && collation && !orders_by_bytes(clause->inputcollid))
        return {Reason::RangeCollation, condition, collation};
    if (is_order(clause->opno)) return {Reason::RangeType, condition, type};
    PlanTerm bounds[2];
    if (find_bound_terms(clause, bounds)) return {Reason::MayFail, condition};
    return {Reason::Operator, condition, get_opname(clause->opno)};
}

bool overlaps_both(Relids relids, const JoinSides& sides) {
    return bms_overlap(relids, sides.probe_relids) && bms_overlap(relids, sides.build_relids);
}

bool compares_sides(const RestrictInfo* rinfo, const JoinSides& sides) {
    if (!is_opclause(rinfo->clause) || list_length(castNode(OpExpr, rinfo->clause)->args) != 2) return false;
    auto lies_in = [](Relids relids, Relids side) {
        return !bms_is_empty(relids) && bms_is_subset(relids, side);
    };
    return (lies_in(rinfo->left_relids, sides.probe_relids) &&
            lies_in(rinfo->right_relids, sides.build_relids)) ||
           (lies_in(rinfo->left_relids, sides.build_relids) &&
            lies_in(rinfo->right_relids, sides.probe_relids));
}

Refusal of_condition(RestrictInfo* rinfo, const JoinSides& sides) {
    auto* condition = reinterpret_cast<Node*>(rinfo->clause);
    if (!overlaps_both(rinfo->clause_relids, sides)) return {Reason::NoCondition};
    if (contain_volatile_functions(condition))
        return {Reason::Volatile, condition, volatile_function(condition)};
    if (contain_subplans(condition)) return {Reason::SubPlan, condition};
    if (compares_sides(rinfo, sides)) return of_comparison(castNode(OpExpr, rinfo->clause));
    return {Reason::NotEvaluated, condition};
}

}  // namespace

Refusal refusal_of_conditions(const List* restrictlist, const JoinSides& sides) {
    ListCell* cell;
    Refusal refusal = {Reason::NoCondition};
    foreach (cell, restrictlist) {
        RestrictInfo* rinfo = lfirst_node(RestrictInfo, cell);
        bool is_above = IS_OUTER_JOIN(sides.jointype) && RINFO_IS_PUSHED_DOWN(rinfo, sides.join_relids);
        if (is_above || rinfo->pseudoconstant) continue;
        Refusal other = of_condition(rinfo, sides);
        if (other.reason < refusal.reason) refusal = other;
    }
    return refusal;
}

}  // namespace gpujoin
