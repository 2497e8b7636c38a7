// See harmless.h.
#include "pg/planner/harmless.h"

#include <cstdlib>
#include <cstring>

#include "pg/compat.h"
#include "pg/error_free.h"
#include "pg/overflow.h"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
}

namespace gpujoin {

Node* copy_of(const void* node) {
    return static_cast<Node*>(copyObjectImpl(node));
}

namespace {

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

}  // namespace

bool refers_to_outer_queries(Node* node) {
    OuterReference search = {0};
    return has_outer_reference(node, &search);
}

namespace {

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

}  // namespace

List* sublinks_of(Node* node) {
    List* found = NIL;
    collect_sublinks(node, &found);
    return found;
}

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

bool has_other_aggregate(Node* node, void* context) {
    if (!node) return false;
    if (!IsA(node, Aggref)) return walk_expression(node, has_other_aggregate, context);
    return !is_known_aggregate(as<Aggref>(node)) || !has_harmless_arguments(as<Aggref>(node));
}

namespace {

// What an aggregate gives without rows.
Node* result_of_nothing(const Aggref* aggregate) {
    const char* name = get_func_name(aggregate->aggfnoid);
    if (strcmp(name, "count") == 0)
        return reinterpret_cast<Node*>(
            makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL));
    return reinterpret_cast<Node*>(makeNullConst(aggregate->aggtype, -1, aggregate->aggcollid));
}

}  // namespace

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

}  // namespace gpujoin
