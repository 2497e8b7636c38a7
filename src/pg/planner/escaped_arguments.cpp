// See escaped_arguments.h.
#include "pg/planner/escaped_arguments.h"

#include "pg/compat.h"
#include "pg/planner/simpler_conditions.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {
namespace {

bool has_other_columns(Node* node, void* values) {
    if (!node || list_member(static_cast<List*>(values), node)) return false;
    if (IsA(node, Var) || IsA(node, PlaceHolderVar)) return true;
    return walk_expression(node, has_other_columns, values);
}

Node* comparing_within_cases(Node* node, void* values) {
    if (!node || list_member(static_cast<List*>(values), node)) return node;
    if (IsA(node, ScalarArrayOpExpr) && has_other_columns(node, values)) {
        Expr* comparisons = as_comparisons(reinterpret_cast<ScalarArrayOpExpr*>(node));
        return comparisons ? comparing_within_cases(reinterpret_cast<Node*>(comparisons), values) : node;
    }
    if (IsA(node, OpExpr) && has_other_columns(node, values)) {
        CaseExpr* choice = as_compared_case(reinterpret_cast<OpExpr*>(node));
        if (choice) node = reinterpret_cast<Node*>(choice);
    }
    return mutate_expression(node, comparing_within_cases, values);
}

}  // namespace

Node* over_values(Node* expression, List* values) {
    Node* other = comparing_within_cases(expression, values);
    return has_other_columns(other, values) ? nullptr : other;
}

}  // namespace gpujoin
