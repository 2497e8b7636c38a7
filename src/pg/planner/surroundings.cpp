// See surroundings.h.
#include "pg/planner/surroundings.h"

#include <cstring>

#include "pg/compat.h"
#include "pg/planner/correlated_subquery.h"
#include "pg/planner/harmless.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"
}

namespace gpujoin {

namespace {

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
bool is_surrounded_harmlessly(const Query* query, const Level* outer);

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
    CHECK_FOR_INTERRUPTS();
    const Level level = {query, outer};
    ListCell* cell;
    foreach (cell, query->rtable)
        if (!is_entry_harmless(lfirst_node(RangeTblEntry, cell), &level)) return false;
    foreach (cell, all_conditions_of(query))
        if (!is_harmless_among_others(static_cast<Node*>(lfirst(cell)), &level)) return false;
    return true;
}

}  // namespace

bool is_harmless_around(const Level* level) {
    if (level->known < 0)
        level->known = is_surrounded_harmlessly(level->query, level->outer) &&
                       (!level->outer || stays_a_query(level->query) || is_harmless_around(level->outer));
    return level->known != 0;
}

namespace {

bool gives_values(Node* condition) {
    ListCell* cell;
    foreach (cell, sublinks_of(condition)) {
        const SubLinkType type = lfirst_node(SubLink, cell)->subLinkType;
        if (type != EXISTS_SUBLINK && type != ANY_SUBLINK) return true;
    }
    return false;
}

bool has_harmful_condition(Node* node, void* context) {
    if (!node || IsA(node, RangeTblEntry)) return false;
    if (!IsA(node, Query)) return walk_expression(node, has_harmful_condition, context);
    const auto* query = as<Query>(node);
    ListCell* cell;
    foreach (cell, query->jointree ? all_conditions_of(query) : NIL) {
        auto* condition = static_cast<Node*>(lfirst(cell));
        if (gives_values(condition) || !is_harmless_around_sublinks(condition)) return true;
    }
    return walk_query(as<Query>(node), has_harmful_condition, context);
}

}  // namespace

bool has_harmless_conditions(const Query* statement) {
    return !has_harmful_condition(reinterpret_cast<Node*>(const_cast<Query*>(statement)), nullptr);
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

}  // namespace gpujoin
