// See decorrelation.h. Queries are as the rewriter leaves them: conditions are neither flattened nor folded.
#include "pg/planner/decorrelation.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/correlated_subquery.h"
#include "pg/planner/harmless.h"
#include "pg/planner/not_in.h"
#include "pg/planner/surroundings.h"

extern "C" {
#include "access/xact.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

// --- The condition

struct Replacement {
    const Node* link;
    Node* by;
};

Node* replace_link(Node* node, void* context) {
    const auto* replacement = static_cast<const Replacement*>(context);
    if (!node) return nullptr;
    if (node == replacement->link) return replacement->by;
    return mutate_expression(node, replace_link, context);
}

// With what the subquery gives without rows the condition must not be true: rows without a partner go. Both
// are harmless.
bool fails_without_rows(Node* condition, const SubLink* link, const Subquery* subquery) {
    Node* nothing = eval_const_expressions(nullptr, without_rows(subquery->result, nullptr));
    if (!IsA(nothing, Const)) return false;
    Replacement replacement = {reinterpret_cast<const Node*>(link), nothing};
    Node* known = eval_const_expressions(nullptr, replace_link(condition, &replacement));
    if (!IsA(known, Const)) return false;
    return as<Const>(known)->constisnull || !DatumGetBool(as<Const>(known)->constvalue);
}

// --- The join

// GROUP BY the correlated columns, which come behind the result.
void group_by_correlations(Subquery* subquery) {
    Query* query = subquery->query;
    ListCell* cell;
    foreach (cell, subquery->correlations) {
        const auto* correlation = static_cast<const Correlation*>(lfirst(cell));
        const auto number = static_cast<AttrNumber>(list_length(query->targetList) + 1);
        TargetEntry* key = makeTargetEntry(reinterpret_cast<Expr*>(copy_of(correlation->inner)), number,
                                           psprintf("key%d", number - 1), false);
        key->ressortgroupref = static_cast<Index>(number - 1);
        query->targetList = lappend(query->targetList, key);
        auto* group = makeNode(SortGroupClause);
        group->tleSortGroupRef = key->ressortgroupref;
        group->eqop = correlation->equality;
        group->sortop = correlation->order;
        group->hashable = correlation->is_hashable;
        query->groupClause = lappend(query->groupClause, group);
    }
}

int add_to_from(Query* outer, const Subquery* subquery) {
    auto* entry = makeNode(RangeTblEntry);
    List* names = NIL;
    ListCell* cell;
    foreach (cell, subquery->query->targetList) {
        const char* name = lfirst_node(TargetEntry, cell)->resname;
        names = lappend(names, makeString(pstrdup(name ? name : "result")));
    }
    entry->rtekind = RTE_SUBQUERY;
    entry->subquery = subquery->query;
    entry->alias = makeAlias("decorrelated", NIL);
    entry->eref = makeAlias("decorrelated", names);
    entry->inFromCl = true;
    outer->rtable = lappend(outer->rtable, entry);
    auto* reference = makeNode(RangeTblRef);
    reference->rtindex = list_length(outer->rtable);
    outer->jointree->fromlist = lappend(outer->jointree->fromlist, reference);
    return reference->rtindex;
}

Node* column_of(int entry, AttrNumber number, Node* expression) {
    return reinterpret_cast<Node*>(
        makeVar(entry, number, exprType(expression), exprTypmod(expression), exprCollation(expression), 0));
}

List* join_conditions(const Subquery* subquery, int entry) {
    List* conditions = NIL;
    AttrNumber number = 1;
    ListCell* cell;
    foreach (cell, subquery->correlations) {
        const auto* correlation = static_cast<const Correlation*>(lfirst(cell));
        auto* comparison = as<OpExpr>(copy_of(correlation->comparison));
        Node* inner = column_of(entry, ++number, correlation->inner);
        Node* outer = copy_of(correlation->outer);
        IncrementVarSublevelsUp(outer, -1, 1);
        const bool is_left = linitial(correlation->comparison->args) == correlation->inner;
        comparison->args = is_left ? list_make2(inner, outer) : list_make2(outer, inner);
        conditions = lappend(conditions, comparison);
    }
    return conditions;
}

// The conditions in place of one that compares with a subquery; NIL where it stays.
List* join_subquery(Query* outer, Node* condition) {
    List* links = sublinks_of(condition);
    if (list_length(links) != 1) return NIL;
    auto* link = static_cast<SubLink*>(linitial(links));
    Subquery subquery;
    if (!find_subquery(link, outer, &subquery)) return NIL;
    const int next = list_length(outer->rtable) + 1;
    Replacement replacement = {reinterpret_cast<Node*>(link), column_of(next, 1, subquery.result)};
    Node* replaced = replace_link(condition, &replacement);
    if (!is_harmless(replaced) || !fails_without_rows(condition, link, &subquery)) return NIL;
    group_by_correlations(&subquery);
    add_to_from(outer, &subquery);
    return lcons(replaced, join_conditions(&subquery, next));
}

bool join_subqueries(Query* query, const Level* level, bool joins_not_in) {
    if (query->commandType != CMD_SELECT || query->rowMarks || !query->hasSubLinks || !query->jointree ||
        !is_harmless_around(level))
        return false;
    bool is_changed = false;
    List* conditions = NIL;
    ListCell* cell;
    foreach (cell, flatten(query->jointree->quals, NIL)) {
        auto* condition = static_cast<Node*>(lfirst(cell));
        List* joined = join_subquery(query, condition);
        if (!joined && joins_not_in)
            if (Node* not_exists = as_not_exists(query, condition)) joined = list_make1(not_exists);
        is_changed |= joined != NIL;
        conditions = joined ? list_concat(conditions, joined) : lappend(conditions, condition);
    }
    if (is_changed) query->jointree->quals = reinterpret_cast<Node*>(make_ands_explicit(conditions));
    return is_changed;
}

struct Joining {
    const Level* outer;
    bool joins_not_in;
    bool* is_changed;
};

bool join_everywhere(Node* node, void* context) {
    if (!node || IsA(node, RangeTblEntry)) return false;
    auto* joining = static_cast<Joining*>(context);
    if (IsA(node, CommonTableExpr) && is_read_elsewhere(as<CommonTableExpr>(node), joining->outer->query))
        return false;
    if (!IsA(node, Query)) return walk_expression(node, join_everywhere, context);
    const Level level = {as<Query>(node), joining->outer};
    *joining->is_changed |= join_subqueries(as<Query>(node), &level, joining->joins_not_in);
    Joining within = {&level, joining->joins_not_in, joining->is_changed};
    return walk_query(as<Query>(node), join_everywhere, &within);
}

bool has_candidate(Node* node, void* context) {
    if (!node || IsA(node, RangeTblEntry)) return false;
    if (is_not_in(node) || (IsA(node, SubLink) && as<SubLink>(node)->subLinkType == EXPR_SUBLINK))
        return true;
    if (IsA(node, Query)) return walk_query(as<Query>(node), has_candidate, context);
    return walk_expression(node, has_candidate, context);
}

// A snapshot that is older than a constraint may show rows that it would not allow.
bool may_join_not_in(const Query* statement) {
    return !IsolationUsesXactSnapshot() && has_harmless_conditions(statement);
}

}  // namespace

Query* decorrelated(const Query* statement) {
    if (statement->commandType != CMD_SELECT || statement->rowMarks || statement->hasModifyingCTE ||
        !has_candidate(reinterpret_cast<Node*>(const_cast<Query*>(statement)), nullptr))
        return nullptr;
    Node* copy = copy_of(statement);
    bool is_changed = false;
    Joining joining = {nullptr, may_join_not_in(statement), &is_changed};
    join_everywhere(copy, &joining);
    return is_changed ? as<Query>(copy) : nullptr;
}

}  // namespace gpujoin
