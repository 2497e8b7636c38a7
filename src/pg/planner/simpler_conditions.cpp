// See simpler_conditions.h.
#include "pg/planner/simpler_conditions.h"

#include "pg/error_free.h"
#include "wire/filter_program.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace gpujoin {

bool find_elements(Node* node, List** elements) {
    *elements = NIL;
    if (IsA(node, ArrayExpr)) {
        auto* list = reinterpret_cast<ArrayExpr*>(node);
        *elements = list->elements;
        return !list->multidims && cannot_fail(reinterpret_cast<Node*>(list->elements));
    }
    if (!IsA(node, Const) || reinterpret_cast<Const*>(node)->constisnull) return false;
    ArrayType* array = DatumGetArrayTypeP(reinterpret_cast<Const*>(node)->constvalue);
    if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > static_cast<int>(kMaxFilterSteps)) return false;
    const TypeCacheEntry* type = lookup_type_cache(ARR_ELEMTYPE(array), 0);
    Datum* values;
    bool* nulls;
    int count;
    deconstruct_array(array, type->type_id, type->typlen, type->typbyval, type->typalign, &values, &nulls,
                      &count);
    for (int i = 0; i < count; i++)
        *elements = lappend(*elements, makeConst(type->type_id, -1, type->typcollation, type->typlen,
                                                 values[i], nulls[i], type->typbyval));
    return true;
}

Expr* as_comparisons(const ScalarArrayOpExpr* clause) {
    List* elements;
    if (!find_elements(static_cast<Node*>(lsecond(clause->args)), &elements) || elements == NIL)
        return nullptr;
    List* comparisons = NIL;
    ListCell* cell;
    foreach (cell, elements) {
        Expr* comparison =
            make_opclause(clause->opno, BOOLOID, false, static_cast<Expr*>(linitial(clause->args)),
                          static_cast<Expr*>(lfirst(cell)), InvalidOid, clause->inputcollid);
        set_opfuncid(reinterpret_cast<OpExpr*>(comparison));
        comparisons = lappend(comparisons, comparison);
    }
    if (list_length(comparisons) == 1) return static_cast<Expr*>(linitial(comparisons));
    return makeBoolExpr(clause->useOr ? OR_EXPR : AND_EXPR, comparisons, -1);
}

CaseExpr* as_compared_case(const OpExpr* clause) {
    for (int side = 0; side < 2 && list_length(clause->args) == 2; side++) {
        if (!IsA(list_nth(clause->args, side), CaseExpr)) continue;
        auto compare = [clause, side](Expr* result) {
            auto* comparison = castNode(OpExpr, copyObjectImpl(clause));
            lfirst(list_nth_cell(comparison->args, side)) = result;
            return reinterpret_cast<Expr*>(comparison);
        };
        auto* choice = castNode(CaseExpr, copyObjectImpl(list_nth(clause->args, side)));
        ListCell* cell;
        foreach (cell, choice->args) {
            auto* when = lfirst_node(CaseWhen, cell);
            when->result = compare(when->result);
        }
        if (choice->defresult) choice->defresult = compare(choice->defresult);
        choice->casetype = clause->opresulttype;
        choice->casecollid = clause->opcollid;
        return choice;
    }
    return nullptr;
}

}  // namespace gpujoin
