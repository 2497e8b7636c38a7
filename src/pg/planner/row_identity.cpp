// See row_identity.h.
#include "pg/planner/row_identity.h"

extern "C" {
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
}

namespace gpujoin {
namespace {

bool is_row_identity(const void* node) {
    return IsA(node, Var) && static_cast<const Var*>(node)->varno == ROWID_VAR;
}

// A row identity is a Var by itself in target lists, never a part of an expression.
Expr* with_leaf(PlannerInfo* root, Expr* expression) {
    if (!is_row_identity(expression)) return expression;
    auto* var = static_cast<Var*>(copyObjectImpl(expression));
    const auto* identity = list_nth_node(RowIdentityVarInfo, root->row_identity_vars, var->varattno - 1);
    var->varno = bms_next_member(identity->rowidrels, -1);
    var->varattno = identity->rowidvar->varattno;
    return reinterpret_cast<Expr*>(var);
}

bool has_row_identities(const List* expressions) {
    ListCell* cell;
    foreach (cell, expressions)
        if (is_row_identity(lfirst(cell))) return true;
    return false;
}

}  // namespace

PathTarget* with_leaf_row_identities(PlannerInfo* root, PathTarget* target) {
    if (root->row_identity_vars == NIL || !has_row_identities(target->exprs)) return target;
    target = copy_pathtarget(target);
    ListCell* cell;
    foreach (cell, target->exprs) lfirst(cell) = with_leaf(root, static_cast<Expr*>(lfirst(cell)));
    return target;
}

void use_leaf_row_identities(PlannerInfo* root, List* entries) {
    ListCell* cell;
    foreach (cell, entries) {
        auto* entry = lfirst_node(TargetEntry, cell);
        entry->expr = with_leaf(root, entry->expr);
    }
}

Path* with_row_identities(PlannerInfo* root, Path* path) {
    if (path->pathtarget == path->parent->reltarget) return path;
    return reinterpret_cast<Path*>(
        create_append_path(root, path->parent, list_make1(path), NIL, NIL, nullptr, 0, false, path->rows));
}

}  // namespace gpujoin
