// See decorrelation.h. Queries are as the rewriter leaves them: conditions are neither flattened nor folded.
#include "pg/planner/decorrelation.h"

#include <cstdlib>
#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/error_free.h"
#include "pg/overflow.h"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
}

namespace gpujoin {

namespace {

// --- What is looked for in expressions

template <typename T>
T* as(Node* node) {
    return reinterpret_cast<T*>(node);
}

Node* copy_of(const void* node) {
    return static_cast<Node*>(copyObjectImpl(node));
}

// Something of a query further out than `depth` levels above.
struct OuterReference {
    int depth;
};

bool has_outer_reference(Node* node, void* context) {
    if (!node) return false;
    auto* search = static_cast<OuterReference*>(context);
    switch (nodeTag(node)) {
        case T_Var:
            return static_cast<int>(as<Var>(node)->varlevelsup) > search->depth;
        case T_Aggref:
            if (static_cast<int>(as<Aggref>(node)->agglevelsup) > search->depth) return true;
            break;
        case T_GroupingFunc:
        case T_PlaceHolderVar:
            return true;
        case T_RangeTblEntry:
            return false;
        case T_Query: {
            OuterReference within = {search->depth + 1};
            return walk_query(as<Query>(node), has_outer_reference, &within);
        }
        default:
            break;
    }
    return walk_expression(node, has_outer_reference, context);
}

bool refers_to_outer_queries(Node* node) {
    OuterReference search = {0};
    return has_outer_reference(node, &search);
}

// The subqueries of an expression, but not those within them.
bool collect_sublinks(Node* node, void* found) {
    if (!node) return false;
    if (IsA(node, SubLink)) {
        auto** list = static_cast<List**>(found);
        *list = lappend(*list, node);
        return false;
    }
    return walk_expression(node, collect_sublinks, found);
}

List* sublinks_of(Node* node) {
    List* found = NIL;
    collect_sublinks(node, &found);
    return found;
}

// A day of a calendar that people use.
bool is_moderate_day(Oid type, Datum value) {
    constexpr DateADT kDays = 1000 * 366;  // before and after 2000
    if (type == DATEOID) return std::abs(int64{DatumGetDateADT(value)}) < kDays;
    return type == TIMESTAMPOID && std::abs(DatumGetTimestamp(value) / USECS_PER_DAY) < kDays;
}

bool is_moderate_interval(Oid type, Datum value) {
    if (type != INTERVALOID) return false;
    const Interval* interval = DatumGetIntervalP(value);
    return std::abs(interval->month) < 12000 && std::abs(interval->day) < 366000 &&
           std::abs(interval->time / USECS_PER_DAY) < 366000;
}

// day + interval, of constants that are far from where days end: `date '1998-12-01' - interval '90 days'`.
bool adds_moderate_constants(Node* node) {
    if (!IsA(node, OpExpr) || list_length(as<OpExpr>(node)->args) != 2) return false;
    auto* left = static_cast<Node*>(linitial(as<OpExpr>(node)->args));
    auto* right = static_cast<Node*>(lsecond(as<OpExpr>(node)->args));
    if (!IsA(left, Const) || !IsA(right, Const)) return false;
    const auto* day = as<Const>(left);
    const auto* interval = as<Const>(right);
    return !day->constisnull && !interval->constisnull && is_moderate_day(day->consttype, day->constvalue) &&
           is_moderate_interval(interval->consttype, interval->constvalue);
}

// Numerics overflow only where values have more than a hundred thousand digits.
bool overflows_soon(Oid function, void*) {
    return may_overflow(function) && get_func_rettype(function) != NUMERICOID;
}

bool calls_what_overflows(Node* node, void* context) {
    if (!node) return false;
    if (check_functions_in_node(node, overflows_soon, nullptr) && !adds_moderate_constants(node)) return true;
    return walk_expression(node, calls_what_overflows, context);
}

// Of an expression that nothing has been evaluated of yet.
bool is_harmless(Node* expression) {
    return cannot_fail(expression) && !calls_what_overflows(expression, nullptr) &&
           !contain_volatile_functions(expression);
}

bool are_harmless(List* expressions) {
    ListCell* cell;
    foreach (cell, expressions)
        if (!is_harmless(static_cast<Node*>(lfirst(cell)))) return false;
    return true;
}

const Var* as_column(Node* node, Index level) {
    while (IsA(node, RelabelType)) node = reinterpret_cast<Node*>(as<RelabelType>(node)->arg);
    return IsA(node, Var) && as<Var>(node)->varlevelsup == level && as<Var>(node)->varattno > 0
               ? as<Var>(node)
               : nullptr;
}

// --- Aggregates

bool adds_up_without_error(const Aggref* aggregate) {
    switch (linitial_oid(aggregate->aggargtypes)) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case NUMERICOID:
            return true;
        default:
            return false;
    }
}

// Values of its argument, of which it takes the least, or distinct ones.
bool compares_without_error(const Aggref* aggregate) {
    if (list_length(aggregate->aggargtypes) != 1) return false;
    MinMaxExpr* least = makeNode(MinMaxExpr);
    least->minmaxtype = linitial_oid(aggregate->aggargtypes);
    return (!type_is_collatable(least->minmaxtype) || OidIsValid(aggregate->inputcollid)) &&
           cannot_fail(reinterpret_cast<Node*>(least));
}

bool is_known_aggregate(const Aggref* aggregate) {
    if (aggregate->aggfnoid >= FirstNormalObjectId || aggregate->aggdirectargs || aggregate->aggorder ||
        (aggregate->aggdistinct && !compares_without_error(aggregate)))
        return false;
    const char* name = get_func_name(aggregate->aggfnoid);
    auto is = [name](const char* one) { return name && strcmp(name, one) == 0; };
    if (is("count")) return true;
    if (list_length(aggregate->aggargtypes) != 1) return false;
    if (is("min") || is("max")) return compares_without_error(aggregate);
    return (is("sum") || is("avg")) && adds_up_without_error(aggregate);
}

bool has_harmless_arguments(const Aggref* aggregate) {
    ListCell* cell;
    foreach (cell, aggregate->args)
        if (!is_harmless(reinterpret_cast<Node*>(lfirst_node(TargetEntry, cell)->expr))) return false;
    return !aggregate->aggfilter || is_harmless(reinterpret_cast<Node*>(aggregate->aggfilter));
}

bool has_other_aggregate(Node* node, void* context) {
    if (!node) return false;
    if (!IsA(node, Aggref)) return walk_expression(node, has_other_aggregate, context);
    return !is_known_aggregate(as<Aggref>(node)) || !has_harmless_arguments(as<Aggref>(node));
}

// What an aggregate gives without rows.
Node* result_of_nothing(const Aggref* aggregate) {
    const char* name = get_func_name(aggregate->aggfnoid);
    if (strcmp(name, "count") == 0)
        return reinterpret_cast<Node*>(
            makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL));
    return reinterpret_cast<Node*>(makeNullConst(aggregate->aggtype, -1, aggregate->aggcollid));
}

Node* without_rows(Node* node, void* context) {
    if (!node) return nullptr;
    if (IsA(node, Aggref)) return result_of_nothing(as<Aggref>(node));
    return mutate_expression(node, without_rows, context);
}

// Aggregates' results as values of which nothing is known.
Node* with_any_results(Node* node, void* context) {
    if (!node) return nullptr;
    if (!IsA(node, Aggref)) return mutate_expression(node, with_any_results, context);
    Param* any = makeNode(Param);
    any->paramkind = PARAM_EXEC;
    any->paramtype = as<Aggref>(node)->aggtype;
    any->paramtypmod = -1;
    any->paramcollid = as<Aggref>(node)->aggcollid;
    return reinterpret_cast<Node*>(any);
}

// --- The subquery

// inner = outer, both plain columns.
struct Correlation {
    OpExpr* comparison;
    Node* inner;
    Node* outer;
    Oid equality;  // by which inner values are grouped
    Oid order;
    bool is_hashable;
};

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

bool has_plain_shape(const Query* query) {
    return query->commandType == CMD_SELECT && query->hasAggs && !query->hasWindowFuncs &&
           !query->hasTargetSRFs && !query->hasSubLinks && !query->groupClause && !query->groupingSets &&
           !query->havingQual && !query->distinctClause && !query->limitCount && !query->limitOffset &&
           !query->setOperations && !query->rowMarks && !query->cteList &&
           list_length(query->targetList) == 1;
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

// Conditions of row security may fail, and are tested on rows of other keys.
bool is_plain_table(const RangeTblEntry* entry) {
    return entry->rtekind == RTE_RELATION && !entry->tablesample && !entry->securityQuals &&
           entry->relkind != RELKIND_FOREIGN_TABLE && !has_virtual_columns(entry->relid);
}

bool reads_tables_alone(const Query* query, const Query* outer) {
    ListCell* cell;
    foreach (cell, query->rtable) {
        const auto* entry = lfirst_node(RangeTblEntry, cell);
        const bool is_common = entry->rtekind == RTE_CTE && reads_common_table(outer, entry);
        if (!is_plain_table(entry) && !is_common && entry->rtekind != RTE_JOIN) return false;
    }
    return true;
}

// Joins in FROM, whose own conditions are the subquery's alone.
bool are_plain_joins(Node* from) {
    if (IsA(from, RangeTblRef)) return true;
    if (!IsA(from, JoinExpr)) return false;
    const auto* join = as<JoinExpr>(from);
    if (join->quals && (refers_to_outer_queries(join->quals) || !is_harmless(join->quals))) return false;
    return are_plain_joins(join->larg) && are_plain_joins(join->rarg);
}

bool lists_plain_joins(const FromExpr* from) {
    ListCell* cell;
    foreach (cell, from->fromlist)
        if (!are_plain_joins(static_cast<Node*>(lfirst(cell)))) return false;
    return true;
}

struct Subquery {
    Query* query;  // as it is to be joined
    List* correlations;
    Node* result;  // of the subquery
};

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

bool find_subquery(const SubLink* link, const Query* outer, Subquery* subquery) {
    if (link->subLinkType != EXPR_SUBLINK || !IsA(link->subselect, Query)) return false;
    const auto* query = reinterpret_cast<const Query*>(link->subselect);
    if (!has_plain_shape(query) || !reads_tables_alone(query, outer) || !lists_plain_joins(query->jointree))
        return false;
    *subquery = {as<Query>(copy_of(query)), NIL, nullptr};
    subquery->result = reinterpret_cast<Node*>(linitial_node(TargetEntry, subquery->query->targetList)->expr);
    if (refers_to_outer_queries(subquery->result) || has_other_aggregate(subquery->result, nullptr) ||
        !is_harmless(with_any_results(subquery->result, nullptr)))
        return false;
    return part_conditions(subquery);
}

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

List* flatten(Node* condition, List* conditions) {
    if (!condition) return conditions;
    if (!IsA(condition, BoolExpr) || as<BoolExpr>(condition)->boolop != AND_EXPR)
        return lappend(conditions, condition);
    ListCell* cell;
    foreach (cell, as<BoolExpr>(condition)->args)
        conditions = flatten(static_cast<Node*>(lfirst(cell)), conditions);
    return conditions;
}

// Subqueries as values of which nothing is known.
Node* with_any_sublinks(Node* node, void* context) {
    if (!node) return nullptr;
    if (!IsA(node, SubLink)) return mutate_expression(node, with_any_sublinks, context);
    Param* any = makeNode(Param);
    any->paramkind = PARAM_EXEC;
    any->paramtype = exprType(node);
    any->paramtypmod = -1;
    any->paramcollid = exprCollation(node);
    return reinterpret_cast<Node*>(any);
}

// --- What is around the subquery. Rows that its condition has left out before may now come to conditions on
// several relations, to results of queries in FROM, and to other subqueries. Most queries in FROM, EXISTS and
// IN become joins of the query around them, and their conditions its own.

struct Level {
    const Query* query;
    const Level* outer;
};

bool is_harmless_around_sublinks(Node* expression) {
    return is_harmless(with_any_sublinks(expression, nullptr));
}

List* conditions_of_join(Node* from, List* conditions) {
    if (!IsA(from, JoinExpr)) return conditions;
    const auto* join = as<JoinExpr>(from);
    return flatten(join->quals, conditions_of_join(join->rarg, conditions_of_join(join->larg, conditions)));
}

// Those of WHERE and ON.
List* all_conditions_of(const Query* query) {
    List* conditions = flatten(query->jointree->quals, NIL);
    ListCell* cell;
    foreach (cell, query->jointree->fromlist)
        conditions = conditions_of_join(static_cast<Node*>(lfirst(cell)), conditions);
    return conditions;
}

bool are_sublinks_harmless(Node* expression, const Level* level);

bool gives_one_row(const Query* query) {
    return query->hasAggs && !query->groupClause && !query->groupingSets;
}

bool has_harmless_results(const Query* query, const Level* level) {
    ListCell* cell;
    foreach (cell, query->targetList) {
        auto* result = reinterpret_cast<Node*>(lfirst_node(TargetEntry, cell)->expr);
        if (has_other_aggregate(result, nullptr) ||
            !is_harmless_around_sublinks(with_any_results(result, nullptr)) ||
            !are_sublinks_harmless(result, level))
            return false;
    }
    return true;
}

// A query that is evaluated for rows of the query around it: all of it is.
bool is_harmless_for_all_rows(const Query* query, const Level* outer) {
    const Level level = {query, outer};
    if (query->setOperations || query->hasWindowFuncs || query->hasTargetSRFs || query->groupingSets ||
        query->havingQual || query->limitCount || query->limitOffset || !has_harmless_results(query, &level))
        return false;
    ListCell* cell;
    foreach (cell, query->rtable) {
        const auto* entry = lfirst_node(RangeTblEntry, cell);
        if (entry->rtekind != RTE_JOIN && entry->rtekind != RTE_CTE && !is_plain_table(entry)) return false;
    }
    foreach (cell, all_conditions_of(query)) {
        auto* condition = static_cast<Node*>(lfirst(cell));
        if (!is_harmless_around_sublinks(condition) || !are_sublinks_harmless(condition, &level))
            return false;
    }
    return true;
}

bool is_surrounded_harmlessly(const Query* query, const Level* outer);

bool is_harmless_sublink(const SubLink* link, const Level* level) {
    const auto* query = reinterpret_cast<const Query*>(link->subselect);
    Subquery subquery;
    if (find_subquery(link, level->query, &subquery)) return true;
    if (link->testexpr && !is_harmless(with_any_sublinks(link->testexpr, nullptr))) return false;
    const bool has_one_value = link->subLinkType == EXPR_SUBLINK || link->subLinkType == ROWCOMPARE_SUBLINK;
    if (refers_to_outer_queries(link->subselect))
        return is_harmless_for_all_rows(query, level) && (!has_one_value || gives_one_row(query));
    const bool may_be_joined = link->subLinkType == EXISTS_SUBLINK || link->subLinkType == ANY_SUBLINK;
    return !may_be_joined || is_surrounded_harmlessly(query, level);
}

bool are_sublinks_harmless(Node* expression, const Level* level) {
    ListCell* cell;
    foreach (cell, sublinks_of(expression))
        if (!is_harmless_sublink(lfirst_node(SubLink, cell), level)) return false;
    return true;
}

// Never a part of the query around it.
bool stays_a_query(const Query* query) {
    return query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs || query->groupClause ||
           query->groupingSets || query->distinctClause || query->limitCount || query->limitOffset;
}

bool is_planned_apart(const CommonTableExpr* table) {
    return table->cterecursive || table->ctematerialized == CTEMaterializeAlways ||
           (table->ctematerialized == CTEMaterializeDefault && table->cterefcount != 1);
}

const CommonTableExpr* find_common_table(const Query* query, const char* name) {
    ListCell* cell;
    foreach (cell, query->cteList)
        if (strcmp(lfirst_node(CommonTableExpr, cell)->ctename, name) == 0)
            return lfirst_node(CommonTableExpr, cell);
    return nullptr;
}

// Of an entry of FROM, what may become a part of the query around it; nullptr: nothing. outer: around that.
const Query* query_read_by(const RangeTblEntry* entry, const Level* level, const Level** outer) {
    *outer = level;
    const Query* query = entry->rtekind == RTE_SUBQUERY ? entry->subquery : nullptr;
    if (entry->rtekind == RTE_CTE) {
        for (Index up = entry->ctelevelsup; *outer && up > 0; up--) *outer = (*outer)->outer;
        const CommonTableExpr* table = *outer ? find_common_table((*outer)->query, entry->ctename) : nullptr;
        if (table && !is_planned_apart(table)) query = reinterpret_cast<const Query*>(table->ctequery);
    }
    return query && !stays_a_query(query) ? query : nullptr;
}

// One of SQL becomes a query in FROM.
bool is_of_sql(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
    const bool is_sql = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == SQLlanguageId;
    ReleaseSysCache(tuple);
    return is_sql;
}

bool calls_sql(const RangeTblEntry* entry) {
    ListCell* cell;
    foreach (cell, entry->functions) {
        const Node* call = lfirst_node(RangeTblFunction, cell)->funcexpr;
        if (IsA(call, FuncExpr) && is_of_sql(reinterpret_cast<const FuncExpr*>(call)->funcid)) return true;
    }
    return false;
}

bool is_entry_harmless(const RangeTblEntry* entry, const Level* level) {
    if (entry->lateral || entry->tablesample || calls_sql(entry)) return false;
    const Level* outer;
    const Query* query = query_read_by(entry, level, &outer);
    if (!query) return true;
    const Level within = {query, outer};
    return has_harmless_results(query, &within) && is_surrounded_harmlessly(query, outer);
}

bool reads_one_table(const Query* query) {
    if (query->hasSubLinks || list_length(query->jointree->fromlist) != 1) return false;
    const auto* from = static_cast<const Node*>(linitial(query->jointree->fromlist));
    if (!IsA(from, RangeTblRef)) return false;
    return rt_fetch(reinterpret_cast<const RangeTblRef*>(from)->rtindex, query->rtable)->rtekind ==
           RTE_RELATION;
}

// Of one relation, which stays one.
bool is_of_one_relation(Node* condition, const Level* level) {
    if (refers_to_outer_queries(condition)) return false;
    int relation;
    Relids relations = pull_varnos(nullptr, condition);
    if (bms_is_empty(relations)) return true;
    if (!bms_get_singleton_member(relations, &relation)) return false;
    const RangeTblEntry* entry = rt_fetch(relation, level->query->rtable);
    if (entry->rtekind == RTE_JOIN) return false;  // a column of both sides
    const Level* outer;
    const Query* query = query_read_by(entry, level, &outer);
    return !query || reads_one_table(query);
}

bool is_harmless_among_others(Node* condition, const Level* level) {
    return (is_of_one_relation(condition, level) || is_harmless_around_sublinks(condition)) &&
           are_sublinks_harmless(condition, level);
}

bool is_surrounded_harmlessly(const Query* query, const Level* outer) {
    check_stack_depth();
    const Level level = {query, outer};
    ListCell* cell;
    foreach (cell, query->rtable)
        if (!is_entry_harmless(lfirst_node(RangeTblEntry, cell), &level)) return false;
    foreach (cell, all_conditions_of(query))
        if (!is_harmless_among_others(static_cast<Node*>(lfirst(cell)), &level)) return false;
    return true;
}

// The query may become a part of the one around it, and so on.
bool is_harmless_further_up(const Query* query, const Level* outer) {
    for (; outer && !stays_a_query(query); outer = outer->outer) {
        if (!is_surrounded_harmlessly(outer->query, outer->outer)) return false;
        query = outer->query;
    }
    return true;
}

bool join_subqueries(Query* query, const Level* outer) {
    if (query->commandType != CMD_SELECT || query->rowMarks || !query->hasSubLinks || !query->jointree ||
        !is_surrounded_harmlessly(query, outer) || !is_harmless_further_up(query, outer))
        return false;
    bool is_changed = false;
    List* conditions = NIL;
    ListCell* cell;
    foreach (cell, flatten(query->jointree->quals, NIL)) {
        auto* condition = static_cast<Node*>(lfirst(cell));
        List* joined = join_subquery(query, condition);
        is_changed |= joined != NIL;
        conditions = joined ? list_concat(conditions, joined) : lappend(conditions, condition);
    }
    if (is_changed) query->jointree->quals = reinterpret_cast<Node*>(make_ands_explicit(conditions));
    return is_changed;
}

// A common table expression becomes a part of the query that reads it, which may be further within than the
// one that has it.
bool is_read_elsewhere(const CommonTableExpr* table, const Query* query) {
    if (is_planned_apart(table)) return false;
    ListCell* cell;
    foreach (cell, query->rtable) {
        const auto* entry = lfirst_node(RangeTblEntry, cell);
        if (entry->rtekind == RTE_CTE && entry->ctelevelsup == 0 &&
            strcmp(entry->ctename, table->ctename) == 0)
            return false;
    }
    return true;
}

struct Joining {
    const Level* outer;
    bool* is_changed;
};

bool join_everywhere(Node* node, void* context) {
    if (!node || IsA(node, RangeTblEntry)) return false;
    auto* joining = static_cast<Joining*>(context);
    if (IsA(node, CommonTableExpr) && is_read_elsewhere(as<CommonTableExpr>(node), joining->outer->query))
        return false;
    if (!IsA(node, Query)) return walk_expression(node, join_everywhere, context);
    *joining->is_changed |= join_subqueries(as<Query>(node), joining->outer);
    const Level level = {as<Query>(node), joining->outer};
    Joining within = {&level, joining->is_changed};
    return walk_query(as<Query>(node), join_everywhere, &within);
}

bool has_scalar_sublink(Node* node, void* context) {
    if (!node || IsA(node, RangeTblEntry)) return false;
    if (IsA(node, SubLink) && as<SubLink>(node)->subLinkType == EXPR_SUBLINK) return true;
    if (IsA(node, Query)) return walk_query(as<Query>(node), has_scalar_sublink, context);
    return walk_expression(node, has_scalar_sublink, context);
}

}  // namespace

Query* decorrelated(const Query* statement) {
    if (statement->commandType != CMD_SELECT || statement->rowMarks || statement->hasModifyingCTE ||
        !has_scalar_sublink(reinterpret_cast<Node*>(const_cast<Query*>(statement)), nullptr))
        return nullptr;
    Node* copy = copy_of(statement);
    bool is_changed = false;
    Joining joining = {nullptr, &is_changed};
    join_everywhere(copy, &joining);
    return is_changed ? as<Query>(copy) : nullptr;
}

}  // namespace gpujoin
