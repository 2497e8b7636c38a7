// See decimal_scales.h.
#include "pg/planner/decimal_scales.h"

#include "pg/compat.h"
#include "pg/decimal.h"
#include "pg/planner/filter_operations.h"

extern "C" {
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
}

namespace gpujoin {
namespace {

// Where else a column is from, its typmod may be more than anybody has seen to. So it is with a foreign table
// that is a partition or an heir.
bool is_table(PlannerInfo* root, Index number) {
    const RangeTblEntry* rte = planner_rt_fetch(number, root);
    if (rte->rtekind != RTE_RELATION || rte->relkind == RELKIND_FOREIGN_TABLE || rte->relkind == RELKIND_VIEW)
        return false;
    ListCell* cell;
    const List* members = rte->inh ? root->append_rel_list : NIL;
    foreach (cell, members) {
        const auto* member = lfirst_node(AppendRelInfo, cell);
        if (member->parent_relid == number && member->child_relid != number &&
            !is_table(root, member->child_relid))
            return false;
    }
    return true;
}

// COALESCE(x, y) is CASE WHEN x IS NOT NULL THEN x ELSE y END. Others are what they are.
Node* coalesce_as_case(Node* node) {
    if (!IsA(node, CoalesceExpr)) return node;
    const auto* coalesce = reinterpret_cast<const CoalesceExpr*>(node);
    auto* choice = makeNode(CaseExpr);
    choice->casetype = coalesce->coalescetype;
    choice->casecollid = coalesce->coalescecollid;
    choice->defresult = static_cast<Expr*>(llast(coalesce->args));
    choice->location = -1;
    ListCell* cell;
    foreach (cell, coalesce->args) {
        auto* argument = static_cast<Expr*>(lfirst(cell));
        if (argument == choice->defresult) break;
        auto* test = makeNode(NullTest);
        test->arg = argument;
        test->nulltesttype = IS_NOT_NULL;
        test->location = -1;
        auto* arm = makeNode(CaseWhen);
        arm->expr = reinterpret_cast<Expr*>(test);
        arm->result = argument;
        arm->location = -1;
        choice->args = lappend(choice->args, arm);
    }
    return reinterpret_cast<Node*>(choice);
}

int digits_of(int64 value) {
    int digits = 0;
    for (; value != 0; value /= 10) digits++;
    return digits;
}

bool find_scale_of_constant(const Const* constant, ScaleRange* range) {
    int64 value;
    int scale;
    if (constant->constisnull || !decimal_constant(constant->constvalue, &value, &scale)) return false;
    *range = {scale, scale, Max(digits_of(value) - scale, 0)};
    return true;
}

bool is_null_constant(const Node* value) {
    return value && IsA(value, Const) && reinterpret_cast<const Const*>(value)->constisnull;
}

// Of values that a plan below computes: they are taken as they come, so that all must have one scale, and no
// more digits than an encoded value may have.
bool find_scale_of_value(PlannerInfo* root, Node* value, ScaleRange* range) {
    return value && find_scales(root, value, range) && range->low == range->high &&
           range->whole + range->high <= kMaxScale;
}

// A column of a UNION ALL: the scale that all of its queries have. What is NULL has any.
bool find_scale_of_union(PlannerInfo* root, const Var* var, ScaleRange* range) {
    bool has_any = false;
    ListCell* cell;
    foreach (cell, root->append_rel_list) {
        const auto* member = lfirst_node(AppendRelInfo, cell);
        if (member->parent_relid != static_cast<Index>(var->varno)) continue;
        auto* value = static_cast<Node*>(list_nth(member->translated_vars, var->varattno - 1));
        ScaleRange own;
        if (is_null_constant(value)) continue;
        if (!find_scale_of_value(root, value, &own) || (has_any && own.high != range->high)) return false;
        *range = {own.low, own.high, has_any ? Max(own.whole, range->whole) : own.whole};
        has_any = true;
    }
    return has_any;
}

// A column of a subquery that has been planned.
bool find_scale_of_result(PlannerInfo* root, const Var* var, ScaleRange* range) {
    const RelOptInfo* rel = root->simple_rel_array[var->varno];
    if (!rel || !rel->subroot || rel->subroot->parse->setOperations) return false;
    const TargetEntry* entry = get_tle_by_resno(rel->subroot->processed_tlist, var->varattno);
    return entry && find_scale_of_value(rel->subroot, reinterpret_cast<Node*>(entry->expr), range);
}

bool find_scale_of_column(PlannerInfo* root, const Var* var, ScaleRange* range) {
    if (var->varlevelsup > 0 || var->varattno <= 0) return false;
    const RangeTblEntry* rte = planner_rt_fetch(var->varno, root);
    if (rte->rtekind == RTE_SUBQUERY)
        return rte->inh ? find_scale_of_union(root, var, range) : find_scale_of_result(root, var, range);
    const int scale = decimal_scale(var->vartypmod);
    *range = {scale, scale, decimal_precision(var->vartypmod) - scale};
    return scale >= 0 && is_table(root, static_cast<Index>(var->varno));
}

bool find_scales_of_arms(PlannerInfo* root, const CaseExpr* choice, ScaleRange* range) {
    if (choice->arg || !choice->defresult ||
        !find_scales(root, reinterpret_cast<Node*>(choice->defresult), range))
        return false;
    ListCell* cell;
    foreach (cell, choice->args) {
        ScaleRange arm;
        if (!find_scales(root, reinterpret_cast<Node*>(lfirst_node(CaseWhen, cell)->result), &arm))
            return false;
        *range = {Min(range->low, arm.low), Max(range->high, arm.high), Max(range->whole, arm.whole)};
    }
    return true;
}

// Of what is cast to numeric by the function; 0: it is none that does.
int digits_of_integer(Oid function) {
    switch (function) {
        case F_NUMERIC_INT2:
            return 5;
        case F_NUMERIC_INT4:
            return 10;
        case F_NUMERIC_INT8:
            return 19;
        default:
            return 0;
    }
}

bool find_scales_of_call(PlannerInfo* root, const FunctionCall& call, ScaleRange* range) {
    *range = {0, 0, digits_of_integer(call.function)};
    if (range->whole > 0) return true;
    ScaleRange scales[2] = {};
    for (int i = 0; i < call.count; i++)
        if (!find_scales(root, call.argument[i], &scales[i])) return false;
    switch (call.function) {
        case F_NUMERIC_UMINUS:
        case F_NUMERIC_ABS:
        case F_ABS_NUMERIC:
            *range = scales[0];
            return true;
        case F_NUMERIC_ADD:
        case F_NUMERIC_SUB:
            *range = {Max(scales[0].low, scales[1].low), Max(scales[0].high, scales[1].high),
                      Max(scales[0].whole, scales[1].whole) + 1};
            return true;
        case F_NUMERIC_MUL:
            *range = {scales[0].low + scales[1].low, scales[0].high + scales[1].high,
                      scales[0].whole + scales[1].whole};
            return range->high <= kMaxScale;
        default:
            return false;
    }
}

}  // namespace

bool is_integer_cast(Oid function) {
    return digits_of_integer(function) > 0;
}

Node* without_relabelling(Node* node) {
    while (IsA(node, RelabelType)) node = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(node)->arg);
    return node;
}

Node* as_choice(Node* node) {
    return coalesce_as_case(without_relabelling(node));
}

// The scales that PostgreSQL may give values of the expression. False where these depend on more than which
// arms are taken, or the expression is none that decimals can be computed of.
bool find_scales(PlannerInfo* root, Node* node, ScaleRange* range) {
    check_stack_depth();
    node = as_choice(node);
    if (exprType(node) != NUMERICOID) return false;
    if (IsA(node, Const)) return find_scale_of_constant(reinterpret_cast<Const*>(node), range);
    if (IsA(node, Var)) return find_scale_of_column(root, reinterpret_cast<Var*>(node), range);
    if (IsA(node, CaseExpr)) return find_scales_of_arms(root, reinterpret_cast<CaseExpr*>(node), range);
    FunctionCall call;
    return take_call(node, &call) && find_scales_of_call(root, call, range);
}

bool find_scale_of(PlannerInfo* root, Node* node, int* scale) {
    ScaleRange range;
    if (!find_scales(root, node, &range) || range.low != range.high) return false;
    *scale = range.high;
    return true;
}

}  // namespace gpujoin
