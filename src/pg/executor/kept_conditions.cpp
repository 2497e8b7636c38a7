// See kept_conditions.h.
#include "pg/executor/kept_conditions.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/kept_condition.h"

extern "C" {
#include "executor/executor.h"
}

namespace gpujoin {

struct KeptConditions {
    ExprContext* context;
    const KeptFormula* formula;
    ExprState** constants;  // of its leaves; nullptr: none
    KeptCondition* known;
};

namespace {

KeptForm form_of(const KeptLeaf* leaf) {
    switch (leaf->column) {
        case KeptLeaf::Numbers:
            return kept_form_of_range(&leaf->range);
        case KeptLeaf::Encoded:
            return encoded_form(leaf->attribute, leaf->encoding, leaf->declared_type, 0);
        case KeptLeaf::Computed:
            return kept_form_of_truth(leaf->expression);
    }
    pg_unreachable();
}

// A subquery's result, before anybody has asked for it.
bool is_not_known_yet(const Expr* constant, const EState* estate) {
    while (IsA(constant, RelabelType)) constant = reinterpret_cast<const RelabelType*>(constant)->arg;
    if (!IsA(constant, Param)) return false;
    const auto* param = reinterpret_cast<const Param*>(constant);
    return param->paramkind == PARAM_EXEC && estate->es_param_exec_vals[param->paramid].execPlan;
}

void ask_for(const KeptLeaf* leaf, ExprState* constant, ExprContext* context, KeptCondition* known) {
    const uint16 column = known->column;
    ResetExprContext(context);
    bool isnull;
    Datum value = ExecEvalExprSwitchContext(constant, context, &isnull);
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    *known = kept_condition_of(leaf, value, isnull);
    MemoryContextSwitchTo(caller);
    known->column = column;
}

}  // namespace

KeptConditions* make_kept_conditions(PlanState* scan, Relation relation, KeptColumns* columns) {
    const KeptFormula* formula = make_kept_formula(scan->plan->qual);
    if (!formula) return nullptr;
    auto* conditions = zeroed<KeptConditions>();
    conditions->context = scan->ps_ExprContext;
    conditions->formula = formula;
    conditions->constants = zeroed<ExprState*>(formula->count + 1);
    conditions->known = zeroed<KeptCondition>(formula->count + 1);
    for (int i = 0; i < formula->count; i++) {
        const KeptLeaf* leaf = &formula->leaves[i];
        const KeptForm form = form_of(leaf);
        conditions->known[i] = leaf->condition;
        conditions->known[i].column = static_cast<uint16>(add_kept_column(columns, relation, &form));
        if (leaf->range.constant) conditions->constants[i] = ExecInitExpr(leaf->range.constant, scan);
    }
    return conditions;
}

bool may_ask_for_constants(const KeptConditions* conditions, const EState* estate) {
    for (int i = 0; i < conditions->formula->count; i++) {
        const KeptLeaf* leaf = &conditions->formula->leaves[i];
        if (leaf->range.constant && !leaf->is_asked_first && is_not_known_yet(leaf->range.constant, estate))
            return false;
    }
    return true;
}

void ask_for_constants(KeptConditions* conditions) {
    for (int i = 0; i < conditions->formula->count; i++)
        if (conditions->constants[i])
            ask_for(&conditions->formula->leaves[i], conditions->constants[i], conditions->context,
                    &conditions->known[i]);
}

std::span<const KeptCondition> known_conditions(const KeptConditions* conditions) {
    return {conditions->known, static_cast<size_t>(conditions->formula->count)};
}

}  // namespace gpujoin
