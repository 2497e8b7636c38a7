// See total.h.
#include "pg/planner/total.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

// Functions that are not marked leakproof, which says that too.
bool is_known_as_total(Oid function) {
    switch (function) {
        case F_LOWER_ANYRANGE:
        case F_UPPER_ANYRANGE:
        case F_ISEMPTY_ANYRANGE:
        case F_NUMERIC_ADD:
        case F_NUMERIC_SUB:
        case F_NUMERIC_MUL:
        case F_NUMERIC_UMINUS:
        case F_NUMERIC_ABS:
        case F_ABS_NUMERIC:
        case F_FLOAT4PL:
        case F_FLOAT4MI:
        case F_FLOAT8PL:
        case F_FLOAT8MI:
        case F_FLOAT48PL:
        case F_FLOAT48MI:
        case F_FLOAT84PL:
        case F_FLOAT84MI:
        case F_FLOAT4UM:
        case F_FLOAT8UM:
        case F_ABS_FLOAT4:
        case F_ABS_FLOAT8:
        case F_DATE_PL_INTERVAL:
        case F_DATE_MI_INTERVAL:
        case F_DATE_TIMESTAMP:
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMP_MI_INTERVAL:
        case F_TIMESTAMPTZ_PL_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            return true;
        default:
            return false;
    }
}

bool may_fail(Oid function, void*) {
    return !get_func_leakproof(function) && !is_known_as_total(function);
}

// x + c and x - c as bigint, where x is an integer of fewer bits: half of all bigints are out of its reach.
// And upper(range) - 1, where the range is not empty: there is a bigint below its upper bound.
bool fits_bigint(OpExpr* operation) {
    set_opfuncid(operation);
    if (operation->opfuncid != F_INT8PL && operation->opfuncid != F_INT8MI) return false;
    auto* constant = static_cast<Const*>(lsecond(operation->args));
    if (!IsA(constant, Const) || constant->constisnull) return false;
    auto* base = static_cast<FuncExpr*>(linitial(operation->args));
    if (!IsA(base, FuncExpr)) return false;
    int64 offset = DatumGetInt64(constant->constvalue);
    if (base->funcid == F_UPPER_ANYRANGE) return operation->opfuncid == F_INT8MI && offset == 1;
    return (base->funcid == F_INT8_INT2 || base->funcid == F_INT8_INT4) && offset >= PG_INT64_MIN / 2 &&
           offset <= PG_INT64_MAX / 2;
}

// Core declares tree walkers without their parameters.
auto as_walker(bool (*walker)(Node*, void*)) {
    return reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker));
}

bool may_fail_walker(Node* node, void* context) {
    if (!node) return false;
    switch (nodeTag(node)) {
        case T_PlaceHolderVar:  // evaluated further down
            return false;
        case T_Var:
        case T_Const:
        case T_Param:
        case T_RelabelType:
        case T_BoolExpr:
        case T_CaseExpr:
        case T_CaseWhen:
        case T_CaseTestExpr:
        case T_CoalesceExpr:
        case T_NullTest:
        case T_BooleanTest:
        case T_MinMaxExpr:
        case T_List:
            break;
        case T_OpExpr:
            if (fits_bigint(reinterpret_cast<OpExpr*>(node))) break;
            [[fallthrough]];
        case T_FuncExpr:
        case T_DistinctExpr:
        case T_NullIfExpr:
        case T_ScalarArrayOpExpr:
            if (check_functions_in_node(node, may_fail, nullptr)) return true;
            break;
        default:
            return true;
    }
    return expression_tree_walker(node, as_walker(may_fail_walker), context);
}

}  // namespace

bool cannot_fail(Node* expression) {
    return !may_fail_walker(expression, nullptr);
}

}  // namespace gpujoin
