// Classifies the conditions of a join. Each goes to the first class that can take it; the residual takes
// whatever is left, so that no condition is ever lost.
#include "pg/planner/clauses.h"

#include "pg/allocate.h"
#include "pg/planner/distances.h"
#include "pg/error_free.h"
#include "pg/planner/overflow_free.h"
#include "pg/planner/range_types.h"
#include "pg/planner/symmetric.h"
#include "pg/planner/test_order.h"
#include "pg/shifted_column.h"

extern "C" {
#include "catalog/pg_operator.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

List** terms_with(JoinClauses* clauses, Comparison comparison) {
    switch (comparison) {
        case Comparison::Equal:
            return &clauses->equalities;
        case Comparison::NotEqual:
            return &clauses->filters;
        default:
            return &clauses->ranges;
    }
}

// False when there are as many of its kind as a join may have.
bool add_term(JoinClauses* clauses, const JoinTerm& term) {
    List** terms = terms_with(clauses, term.plan.comparison);
    if (list_length(*terms) == int{kMaxTerms}) return false;
    JoinTerm* copy = unset<JoinTerm>();
    *copy = term;
    *terms = lappend(*terms, copy);
    return true;
}

Index lowest_security_level(const List* restrictlist) {
    Index lowest = PG_UINT32_MAX;
    ListCell* cell;
    foreach (cell, restrictlist) lowest = Min(lowest, lfirst_node(RestrictInfo, cell)->security_level);
    return lowest;
}

// May be evaluated ahead of all other conditions, as terms are: nothing that a lower security level would
// hide can leak through it, and evaluating it once a row is the same as once a pair.
bool may_be_term(RestrictInfo* rinfo, Index lowest_level) {
    Node* node = reinterpret_cast<Node*>(rinfo);
    return (rinfo->security_level <= lowest_level || rinfo->leakproof) && !contain_volatile_functions(node) &&
           !contain_subplans(reinterpret_cast<Node*>(rinfo->clause));
}

bool between(Relids left, Relids right, const JoinSides& sides) {
    return !bms_is_empty(left) && !bms_is_empty(right) && bms_is_subset(left, sides.probe_relids) &&
           bms_is_subset(right, sides.build_relids);
}

OpExpr* commuted(OpExpr* clause) {
    if (!OidIsValid(get_commutator(clause->opno))) return nullptr;
    OpExpr* result = makeNode(OpExpr);
    *result = *clause;
    result->args = list_copy(clause->args);
    CommuteOpExpr(result);
    return result;
}

// The comparison with the probe side's expression on the left, or nullptr when it is not one between the
// sides. The relids are those of its arguments.
OpExpr* oriented(OpExpr* clause, Relids left, Relids right, const JoinSides& sides) {
    if (between(left, right, sides)) return clause;
    return between(right, left, sides) ? commuted(clause) : nullptr;
}

OpExpr* oriented_clause(RestrictInfo* rinfo, const JoinSides& sides) {
    if (!is_opclause(rinfo->clause)) return nullptr;
    OpExpr* clause = castNode(OpExpr, rinfo->clause);
    if (list_length(clause->args) != 2) return nullptr;
    return oriented(clause, rinfo->left_relids, rinfo->right_relids, sides);
}

// Equal values have equal hashes: so any strict hashable operator can at least reject pairs. Under
// nondeterministic collations nothing is taken.
bool can_be_hashed(RestrictInfo* rinfo, OpExpr* clause) {
    RegProcedure probe_hash, build_hash;
    return OidIsValid(rinfo->hashjoinoperator) && op_strict(clause->opno) &&
           get_op_hash_functions(clause->opno, &probe_hash, &build_hash) &&
           (!OidIsValid(clause->inputcollid) || get_collation_isdeterministic(clause->inputcollid));
}

// The comparison with keys that can be evaluated for every row, also those that no other condition finds a
// partner for; nullptr when one might raise an error.
OpExpr* with_total_keys(OpExpr* clause, KeyEncoding encoding, Comparison comparison) {
    OpExpr* result = static_cast<OpExpr*>(copyObjectImpl(clause));
    ListCell* cell;
    foreach (cell, result->args) {
        ShiftedColumn shifted;
        if (find_shifted_column(static_cast<Node*>(lfirst(cell)), encoding, &shifted)) {
            bool is_left = foreach_current_index(cell) == 0;
            if (is_bound(encoding) || compares_truly(shifted, is_left ? comparison : commuted(comparison)))
                continue;
        }
        if (!cannot_fail(static_cast<Node*>(lfirst(cell)))) return nullptr;
    }
    return result;
}

// Adds a comparison of encodable values, in a form that raises no error. Keys of equalities may, as in core's
// hash joins.
bool add_comparison(JoinClauses* clauses, RestrictInfo* rinfo, OpExpr* clause, Expr* written) {
    OperatorEncoding found;
    clause = without_overflow(clause);
    if (!clause || !find_operator_encoding(clause->opno, clause->inputcollid, &found)) return false;
    if (found.comparison != Comparison::Equal)
        clause = with_total_keys(clause, found.encoding, found.comparison);
    return clause && add_term(clauses, {rinfo, clause, written, {found.encoding, found.comparison}});
}

// Adds the comparisons of bounds that a condition on range types is.
bool add_bounds(JoinClauses* clauses, RestrictInfo* rinfo, OpExpr* clause) {
    PlanTerm terms[2];
    if (!find_bound_terms(clause, terms)) return false;
    auto* written = reinterpret_cast<Expr*>(clause);
    clause = with_total_keys(clause, terms[0].encoding, terms[0].comparison);
    return clause && add_term(clauses, {rinfo, clause, written, terms[0]}) &&
           add_term(clauses, {rinfo, clause, written, terms[1]});
}

// The comparisons that a condition is short for: a bounded distance between the sides, which is a band, or
// BETWEEN SYMMETRIC.
List* spelled_out(Expr* clause, bool* is_exact) {
    *is_exact = true;
    if (is_orclause(clause)) return symmetric_comparisons(castNode(BoolExpr, clause));
    if (!is_opclause(clause)) return NIL;
    OpExpr* comparison = castNode(OpExpr, clause);
    if (IsA(linitial(comparison->args), Const)) comparison = commuted(comparison);
    return comparison ? distance_comparisons(comparison, is_exact) : NIL;
}

// Takes a condition that is short for comparisons between the sides. False when it is not, or they do not
// decide the pair alone.
bool take_abbreviation(JoinClauses* clauses, RestrictInfo* rinfo, const JoinSides& sides) {
    bool is_exact;
    List* comparisons = spelled_out(rinfo->clause, &is_exact);
    ListCell* cell;
    foreach (cell, comparisons) {
        OpExpr* comparison = lfirst_node(OpExpr, cell);
        Relids left = pull_varnos(sides.root, static_cast<Node*>(linitial(comparison->args)));
        Relids right = pull_varnos(sides.root, static_cast<Node*>(lsecond(comparison->args)));
        comparison = oriented(comparison, left, right, sides);
        if (!comparison || !add_comparison(clauses, rinfo, comparison, rinfo->clause)) return false;
    }
    return comparisons != NIL && is_exact;
}

// Takes a condition between the sides. False when it cannot be a term, or its terms do not decide the pair
// alone; by hashes they decide nearly all, and core, too, tests what it hashes by before anything else.
bool take_comparison(JoinClauses* clauses, RestrictInfo* rinfo, const JoinSides& sides) {
    OpExpr* clause = oriented_clause(rinfo, sides);
    if (!clause) return false;
    auto* written = reinterpret_cast<Expr*>(clause);
    if (add_comparison(clauses, rinfo, clause, written) || add_bounds(clauses, rinfo, clause)) return true;
    if (!can_be_hashed(rinfo, clause) ||
        !add_term(clauses, {rinfo, clause, written, {KeyEncoding::Hash64, Comparison::Equal}}))
        return false;
    clauses->residual = lappend(clauses->residual, rinfo);
    return true;
}

// Takes a condition on one side alone, which outer joins have, as the key "condition = true". Only where its
// evaluation cannot fail: core would evaluate it for rows with a partner only.
bool take_condition(JoinClauses* clauses, RestrictInfo* rinfo, const JoinSides& sides) {
    bool on_probe = bms_is_subset(rinfo->clause_relids, sides.probe_relids);
    bool on_build = bms_is_subset(rinfo->clause_relids, sides.build_relids);
    if ((!on_probe && !on_build) || contain_leaked_vars(reinterpret_cast<Node*>(rinfo->clause))) return false;
    Expr* truth = reinterpret_cast<Expr*>(makeBoolConst(true, false));
    Expr* clause = make_opclause(BooleanEqualOperator, BOOLOID, false, on_probe ? rinfo->clause : truth,
                                 on_probe ? truth : rinfo->clause, InvalidOid, InvalidOid);
    return add_term(clauses,
                    {rinfo, castNode(OpExpr, clause), rinfo->clause, {KeyEncoding::Bool, Comparison::Equal}});
}

// Takes a condition on pairs that an engine can evaluate.
bool take_pair_condition(JoinClauses* clauses, RestrictInfo* rinfo, const JoinSides& sides) {
    if (!clauses->compiled) clauses->compiled = zeroed<JoinFilter>();
    if (!add_condition(clauses->compiled, rinfo->clause, sides)) return false;
    clauses->residual_before = lappend_int(clauses->residual_before, list_length(clauses->residual));
    clauses->conditions = lappend(clauses->conditions, rinfo);
    return true;
}

bool link_sides(const List* conditions, const JoinSides& sides) {
    ListCell* cell;
    foreach (cell, conditions) {
        const RestrictInfo* rinfo = lfirst_node(RestrictInfo, cell);
        if (bms_overlap(rinfo->clause_relids, sides.probe_relids) &&
            bms_overlap(rinfo->clause_relids, sides.build_relids))
            return true;
    }
    return false;
}

// A term that links the two sides, which a condition on one of them does not: that is compared with a
// constant.
bool links_sides(const List* terms) {
    ListCell* cell;
    foreach (cell, terms) {
        const List* keys = static_cast<JoinTerm*>(lfirst(cell))->clause->args;
        if (!IsA(linitial(keys), Const) && !IsA(lsecond(keys), Const)) return true;
    }
    return false;
}

}  // namespace

JoinClauses* classify_clauses(List* restrictlist, const JoinSides& sides) {
    JoinClauses* clauses = zeroed<JoinClauses>();
    Index lowest_level = lowest_security_level(restrictlist);
    List* tested = NIL;  // one after the other, on pairs
    ListCell* cell;
    foreach (cell, restrictlist) {
        RestrictInfo* rinfo = lfirst_node(RestrictInfo, cell);
        if (rinfo->pseudoconstant) continue;
        if (IS_OUTER_JOIN(sides.jointype) && RINFO_IS_PUSHED_DOWN(rinfo, sides.join_relids))
            clauses->pushed_down = lappend(clauses->pushed_down, rinfo);
        else if (!may_be_term(rinfo, lowest_level) ||
                 (!take_comparison(clauses, rinfo, sides) && !take_abbreviation(clauses, rinfo, sides) &&
                  !take_condition(clauses, rinfo, sides)))
            tested = lappend(tested, rinfo);
    }
    clauses->pushed_down = in_test_order(sides.root, clauses->pushed_down);
    foreach (cell, in_test_order(sides.root, tested)) {
        RestrictInfo* rinfo = lfirst_node(RestrictInfo, cell);
        if (!may_be_term(rinfo, lowest_level) || !take_pair_condition(clauses, rinfo, sides))
            clauses->residual = lappend(clauses->residual, rinfo);
    }
    clauses->searchable = links_sides(clauses->equalities) || clauses->ranges;
    return clauses->searchable || link_sides(clauses->conditions, sides) ? clauses : nullptr;
}

const JoinFilter& filter_of(const JoinClauses* clauses) {
    static const JoinFilter none = {};
    return clauses->compiled ? *clauses->compiled : none;
}

List* term_clauses(const List* terms) {
    List* result = NIL;
    ListCell* cell;
    foreach (cell, terms) result = lappend(result, static_cast<JoinTerm*>(lfirst(cell))->clause);
    return result;
}

List* written_conditions(const List* terms) {
    List* result = NIL;
    ListCell* cell;
    foreach (cell, terms) result = list_append_unique(result, static_cast<JoinTerm*>(lfirst(cell))->written);
    return result;
}

}  // namespace gpujoin
