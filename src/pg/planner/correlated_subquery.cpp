// See correlated_subquery.h.
#include "pg/planner/correlated_subquery.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/harmless.h"

extern "C" {
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_oper.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

bool is_inner_and_outer(Node* inner, Node* outer) {
    return as_column(inner, 0) && as_column(outer, 1);
}

bool have_common(const List* a, const List* b) {
    ListCell* cell;
    foreach (cell, a)
        if (list_member_oid(b, lfirst_oid(cell))) return true;
    return false;
}

// A timestamp may be the same as several others in a time zone whose clocks are changed.
bool is_immutable(Oid comparison) {
    return func_volatile(get_opcode(comparison)) == PROVOLATILE_IMMUTABLE;
}

// Whether values are equal to it together that are in one group.
bool groups_as_it_compares(const OpExpr* comparison, Correlation* found) {
    const Oid type = exprType(found->inner);
    get_sort_group_operators(type, false, false, false, &found->order, &found->equality, nullptr,
                             &found->is_hashable);
    if (!OidIsValid(found->equality) || !op_strict(comparison->opno) || !is_immutable(comparison->opno))
        return false;
    if (!have_common(get_mergejoin_opfamilies(comparison->opno), get_mergejoin_opfamilies(found->equality)))
        return false;
    const Oid collation = exprCollation(found->inner);
    return collation == comparison->inputcollid &&
           (!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

bool find_correlation(Node* condition, Correlation* found) {
    if (!IsA(condition, OpExpr) || list_length(as<OpExpr>(condition)->args) != 2) return false;
    auto* comparison = as<OpExpr>(condition);
    auto* left = static_cast<Node*>(linitial(comparison->args));
    auto* right = static_cast<Node*>(lsecond(comparison->args));
    const bool is_swapped = is_inner_and_outer(right, left);
    if (!is_swapped && !is_inner_and_outer(left, right)) return false;
    *found = {comparison, is_swapped ? right : left, is_swapped ? left : right, InvalidOid, InvalidOid,
              false};
    return op_mergejoinable(comparison->opno, exprType(left)) && groups_as_it_compares(comparison, found);
}

// Conditions that all are to hold; common ones of alternatives are among them.
List* conditions_of(Node* condition) {
    if (!condition) return NIL;
    auto* canonical = canonicalize_qual(reinterpret_cast<Expr*>(copy_of(condition)), false);
    return make_ands_implicit(canonical);
}

// One of the outer query's own that is materialized, and that the query reads as well: it is evaluated
// anyway.
bool reads_common_table(const Query* outer, const RangeTblEntry* inner) {
    bool is_read = false;
    ListCell* cell;
    foreach (cell, outer->rtable) {
        const auto* entry = lfirst_node(RangeTblEntry, cell);
        is_read |= entry->rtekind == RTE_CTE && entry->ctelevelsup == 0 &&
                   strcmp(entry->ctename, inner->ctename) == 0;
    }
    foreach (cell, outer->cteList) {
        const auto* table = lfirst_node(CommonTableExpr, cell);
        if (strcmp(table->ctename, inner->ctename) == 0)
            return is_read && inner->ctelevelsup == 1 && table->ctematerialized != CTEMaterializeNever;
    }
    return false;
}

}  // namespace

// Conditions of row security may fail, and are tested on rows of other keys.
bool is_plain_table(const RangeTblEntry* entry) {
    return entry->rtekind == RTE_RELATION && !entry->tablesample && !entry->securityQuals &&
           entry->relkind != RELKIND_FOREIGN_TABLE && !has_virtual_columns(entry->relid);
}

bool has_plain_shape(const Query* query) {
    return query->commandType == CMD_SELECT && !query->hasWindowFuncs && !query->hasTargetSRFs &&
           !query->hasSubLinks && !query->groupClause && !query->groupingSets && !query->havingQual &&
           !query->distinctClause && !query->limitCount && !query->limitOffset && !query->setOperations &&
           !query->rowMarks && !query->cteList && list_length(query->targetList) == 1;
}

bool reads_tables_alone(const Query* query, const Query* outer) {
    ListCell* cell;
    foreach (cell, query->rtable) {
        const auto* entry = lfirst_node(RangeTblEntry, cell);
        const bool is_common = outer && entry->rtekind == RTE_CTE && reads_common_table(outer, entry);
        if (!is_plain_table(entry) && !is_common && entry->rtekind != RTE_JOIN) return false;
    }
    return true;
}

namespace {

// Joins in FROM, whose own conditions are the subquery's alone.
bool are_plain_joins(Node* from) {
    if (IsA(from, RangeTblRef)) return true;
    if (!IsA(from, JoinExpr)) return false;
    const auto* join = as<JoinExpr>(from);
    if (join->quals && (refers_to_outer_queries(join->quals) || !is_harmless(join->quals))) return false;
    return are_plain_joins(join->larg) && are_plain_joins(join->rarg);
}

}  // namespace

bool lists_plain_joins(const FromExpr* from) {
    ListCell* cell;
    foreach (cell, from->fromlist)
        if (!are_plain_joins(static_cast<Node*>(lfirst(cell)))) return false;
    return true;
}

namespace {

// Parts conditions into correlations and others, which stay.
bool part_conditions(Subquery* subquery) {
    List* others = NIL;
    ListCell* cell;
    foreach (cell, conditions_of(subquery->query->jointree->quals)) {
        auto* condition = static_cast<Node*>(lfirst(cell));
        if (!refers_to_outer_queries(condition)) {
            others = lappend(others, condition);
            continue;
        }
        auto* found = zeroed<Correlation>();
        if (!find_correlation(condition, found)) return false;
        subquery->correlations = lappend(subquery->correlations, found);
    }
    subquery->query->jointree->quals = others ? reinterpret_cast<Node*>(make_ands_explicit(others)) : nullptr;
    return subquery->correlations != NIL && are_harmless(others);
}

}  // namespace

bool find_subquery(const SubLink* link, const Query* outer, Subquery* subquery) {
    if (link->subLinkType != EXPR_SUBLINK || !IsA(link->subselect, Query)) return false;
    const auto* query = reinterpret_cast<const Query*>(link->subselect);
    if (!query->hasAggs || !has_plain_shape(query) || !reads_tables_alone(query, outer) ||
        !lists_plain_joins(query->jointree))
        return false;
    *subquery = {as<Query>(copy_of(query)), NIL, nullptr};
    subquery->result = reinterpret_cast<Node*>(linitial_node(TargetEntry, subquery->query->targetList)->expr);
    if (refers_to_outer_queries(subquery->result) || has_other_aggregate(subquery->result, nullptr) ||
        !is_harmless(with_any_results(subquery->result, nullptr)))
        return false;
    return part_conditions(subquery);
}

}  // namespace gpujoin
