// See not_in.h.
#include "pg/planner/not_in.h"

#include "pg/compat.h"
#include "pg/planner/correlated_subquery.h"
#include "pg/planner/harmless.h"

extern "C" {
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace gpujoin {

namespace {

// --- What is never NULL

// Whether outer joins may make a relation's columns NULL; is_nulled: they do so above this.
bool is_nulled_within(Node* from, int relation, bool is_nulled) {
    if (IsA(from, RangeTblRef)) return is_nulled && as<RangeTblRef>(from)->rtindex == relation;
    if (IsA(from, JoinExpr)) {
        const auto* join = as<JoinExpr>(from);
        const bool nulls_left = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL;
        const bool nulls_right = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;
        return is_nulled_within(join->larg, relation, is_nulled || nulls_left) ||
               is_nulled_within(join->rarg, relation, is_nulled || nulls_right);
    }
    ListCell* cell;
    foreach (cell, as<FromExpr>(from)->fromlist)
        if (is_nulled_within(static_cast<Node*>(lfirst(cell)), relation, is_nulled)) return true;
    return false;
}

// Declared for the table, and for all whose rows it has: those of its children may have other constraints.
bool is_declared_not_null(const RangeTblEntry* entry, AttrNumber attribute) {
    if (!is_plain_table(entry) || entry->relkind != RELKIND_RELATION || attribute <= 0) return false;
    if (entry->inh && has_subclass(entry->relid)) return false;
    Relation table = table_open(entry->relid, NoLock);
    const bool is_declared = has_valid_not_null(RelationGetDescr(table), attribute);
    table_close(table, NoLock);
    return is_declared;
}

// A column of a query's own.
bool is_never_null(const Query* query, Node* expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<Node*>(as<RelabelType>(expression)->arg);
    const Var* column = as_column(expression, 0);
    return column && is_declared_not_null(rt_fetch(column->varno, query->rtable), column->varattno) &&
           !is_nulled_within(reinterpret_cast<Node*>(query->jointree), column->varno, false);
}

// --- The subquery

// What it gives, which is one column; nullptr: it is not as simple as that.
Node* single_result(const Query* query) {
    if (query->hasAggs || query->sortClause || !query->jointree->fromlist || !has_plain_shape(query) ||
        !reads_tables_alone(query, nullptr) || !lists_plain_joins(query->jointree))
        return nullptr;
    if (query->jointree->quals && refers_to_outer_queries(query->jointree->quals)) return nullptr;
    return reinterpret_cast<Node*>(linitial_node(TargetEntry, query->targetList)->expr);
}

// --- The comparison

bool is_subquery_result(Node* node) {
    while (IsA(node, RelabelType)) node = reinterpret_cast<Node*>(as<RelabelType>(node)->arg);
    return IsA(node, Param) && as<Param>(node)->paramkind == PARAM_SUBLINK;
}

// By an operator of PostgreSQL's own, which says true or false of values that are not NULL.
OpExpr* equality_with_result(const SubLink* link) {
    if (!link->testexpr || !IsA(link->testexpr, OpExpr)) return nullptr;
    auto* comparison = as<OpExpr>(link->testexpr);
    if (list_length(comparison->args) != 2 || comparison->opno >= FirstNormalObjectId) return nullptr;
    auto* left = static_cast<Node*>(linitial(comparison->args));
    if (!is_subquery_result(static_cast<Node*>(lsecond(comparison->args)))) return nullptr;
    const Oid type = exprType(left);
    const bool is_equality =
        op_mergejoinable(comparison->opno, type) && op_hashjoinable(comparison->opno, type);
    const bool is_plain = op_strict(comparison->opno) && !type_is_rowtype(type) &&
                          (OidIsValid(comparison->inputcollid) || !type_is_collatable(type)) &&
                          func_volatile(get_opcode(comparison->opno)) == PROVOLATILE_IMMUTABLE;
    return is_equality && is_plain ? comparison : nullptr;
}

Node* replace_result(Node* node, void* result) {
    if (!node) return nullptr;
    if (IsA(node, Param) && as<Param>(node)->paramkind == PARAM_SUBLINK) return copy_of(result);
    return mutate_expression(node, replace_result, result);
}

// The same, within the subquery.
Node* comparison_within(const OpExpr* comparison, Node* result) {
    auto* within = as<OpExpr>(copy_of(comparison));
    auto* left = static_cast<Node*>(linitial(within->args));
    IncrementVarSublevelsUp(left, 1, 0);
    within->args = list_make2(left, replace_result(static_cast<Node*>(lsecond(within->args)), result));
    return reinterpret_cast<Node*>(within);
}

Node* make_not_exists(Query* subquery) {
    auto* link = makeNode(SubLink);
    link->subLinkType = EXISTS_SUBLINK;
    link->subselect = reinterpret_cast<Node*>(subquery);
    link->location = -1;
    return reinterpret_cast<Node*>(makeBoolExpr(NOT_EXPR, list_make1(link), -1));
}

const SubLink* negated_in(Node* condition) {
    if (!IsA(condition, BoolExpr) || as<BoolExpr>(condition)->boolop != NOT_EXPR) return nullptr;
    auto* negated = static_cast<Node*>(linitial(as<BoolExpr>(condition)->args));
    if (!IsA(negated, SubLink) || as<SubLink>(negated)->subLinkType != ANY_SUBLINK) return nullptr;
    return IsA(as<SubLink>(negated)->subselect, Query) ? as<SubLink>(negated) : nullptr;
}

}  // namespace

bool is_not_in(Node* node) {
    return negated_in(node) != nullptr;
}

Node* as_not_exists(const Query* query, Node* condition) {
    const SubLink* link = negated_in(condition);
    const OpExpr* comparison = link ? equality_with_result(link) : nullptr;
    if (!comparison || !is_never_null(query, static_cast<Node*>(linitial(comparison->args)))) return nullptr;
    auto* subquery = as<Query>(copy_of(link->subselect));
    Node* result = single_result(subquery);
    if (!result || !is_never_null(subquery, result)) return nullptr;
    List* conditions = subquery->jointree->quals ? list_make1(subquery->jointree->quals) : NIL;
    conditions = lappend(conditions, comparison_within(comparison, result));
    subquery->jointree->quals = reinterpret_cast<Node*>(make_ands_explicit(conditions));
    return make_not_exists(subquery);
}

}  // namespace gpujoin
