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

// Where else a column is from, its typmod may be more than anybody has seen to.
bool is_of_table(PlannerInfo* root, const Var* var) {
    return var->varlevelsup == 0 && var->varattno > 0 &&
           planner_rt_fetch(var->varno, root)->rtekind == RTE_RELATION &&
           planner_rt_fetch(var->varno, root)->relkind != RELKIND_FOREIGN_TABLE &&
           planner_rt_fetch(var->varno, root)->relkind != RELKIND_VIEW;
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

bool find_scale_of_constant(const Const* constant, int* scale) {
    int64 value;
    return !constant->constisnull && decimal_constant(constant->constvalue, &value, scale);
}

bool is_null_constant(const Node* value) {
    return value && IsA(value, Const) && reinterpret_cast<const Const*>(value)->constisnull;
}

// A column of a UNION ALL: the scale that all of its queries have. What is NULL has any.
bool find_scale_of_union(PlannerInfo* root, const Var* var, int* scale) {
    *scale = -1;
    ListCell* cell;
    foreach (cell, root->append_rel_list) {
        const auto* member = lfirst_node(AppendRelInfo, cell);
        if (member->parent_relid != static_cast<Index>(var->varno)) continue;
        auto* value = static_cast<Node*>(list_nth(member->translated_vars, var->varattno - 1));
        int own;
        if (is_null_constant(value)) continue;
        if (!value || !find_scale_of(root, value, &own) || (*scale >= 0 && own != *scale)) return false;
        *scale = own;
    }
    return *scale >= 0;
}

// A column of a subquery that has been planned.
bool find_scale_of_result(PlannerInfo* root, const Var* var, int* scale) {
    const RelOptInfo* rel = root->simple_rel_array[var->varno];
    if (!rel || !rel->subroot || rel->subroot->parse->setOperations) return false;
    const TargetEntry* entry = get_tle_by_resno(rel->subroot->processed_tlist, var->varattno);
    return entry && find_scale_of(rel->subroot, reinterpret_cast<Node*>(entry->expr), scale);
}

bool find_scale_of_column(PlannerInfo* root, const Var* var, int* scale) {
    if (var->varlevelsup > 0 || var->varattno <= 0) return false;
    const RangeTblEntry* rte = planner_rt_fetch(var->varno, root);
    if (rte->rtekind == RTE_SUBQUERY)
        return rte->inh ? find_scale_of_union(root, var, scale) : find_scale_of_result(root, var, scale);
    *scale = decimal_scale(var->vartypmod);
    return *scale >= 0 && is_of_table(root, var);
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
        *range = {Min(range->low, arm.low), Max(range->high, arm.high)};
    }
    return true;
}

bool find_scales_of_call(PlannerInfo* root, const FunctionCall& call, ScaleRange* range) {
    *range = {};
    if (is_integer_cast(call.function)) return true;
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
            *range = {Max(scales[0].low, scales[1].low), Max(scales[0].high, scales[1].high)};
            return true;
        case F_NUMERIC_MUL:
            *range = {scales[0].low + scales[1].low, scales[0].high + scales[1].high};
            return range->high <= kMaxScale;
        default:
            return false;
    }
}

}  // namespace

bool is_integer_cast(Oid function) {
    return function == F_NUMERIC_INT2 || function == F_NUMERIC_INT4 || function == F_NUMERIC_INT8;
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
    int scale;
    if (IsA(node, Const)) {
        if (!find_scale_of_constant(reinterpret_cast<Const*>(node), &scale)) return false;
        *range = {scale, scale};
        return true;
    }
    if (IsA(node, Var)) {
        if (!find_scale_of_column(root, reinterpret_cast<Var*>(node), &scale)) return false;
        *range = {scale, scale};
        return true;
    }
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
