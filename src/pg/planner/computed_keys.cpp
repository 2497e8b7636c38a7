// See computed_keys.h.
#include "pg/planner/computed_keys.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/kept_expression.h"
#include "pg/kept_tables.h"
#include "pg/planner/kept_facts.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

bool gives_columns_alone(const Path* path) {
    ListCell* cell;
    foreach (cell, path->pathtarget->exprs)
        if (!IsA(lfirst(cell), Var)) return false;
    return true;
}

namespace {

// The scan with the columns that what it computes is made of; nullptr where these are not columns alone.
Path* without_computing(PlannerInfo* root, const Path* scan) {
    const PathTarget* computed = scan->pathtarget;
    List* columns = NIL;
    ListCell* cell;
    foreach (cell, computed->exprs)
        columns = list_concat_unique(
            columns, pull_var_clause(static_cast<Node*>(lfirst(cell)), PVC_INCLUDE_PLACEHOLDERS));
    auto* path = unset<Path>();
    *path = *scan;
    path->pathtarget = create_empty_pathtarget();
    add_new_columns_to_pathtarget(path->pathtarget, columns);
    set_pathtarget_cost_width(root, path->pathtarget);
    path->startup_cost -= computed->cost.startup;
    path->total_cost -= computed->cost.startup + computed->cost.per_tuple * path->rows;
    return gives_columns_alone(path) ? path : nullptr;
}

// What is by reference is computed for the key, and once more for the value that comes out.
Cost cost_of(PlannerInfo* root, Node* key) {
    QualCost cost;
    cost_qual_eval_node(&cost, key, root);
    return get_typbyval(exprType(key)) ? cost.per_tuple : 2 * cost.per_tuple;
}

bool look_at_keys(PlannerInfo* root, RelOptInfo* rel, const List* keys, ComputedKeys* computed) {
    const KeptFacts* facts = kept_facts(root, rel);
    *computed = {0, facts->may_be_kept};
    ListCell* cell;
    foreach (cell, keys) {
        auto* key = static_cast<Node*>(lfirst(cell));
        if (IsA(key, Var)) continue;
        if (!may_keep_expression(key)) return false;
        computed->cost += cost_of(root, key);
        if (!facts->may_be_kept) continue;
        const uint64 hash = hash_of_expression(facts->table, canonical_expression(key));
        computed->may_be_kept &= is_expression_noted(hash) || note_expression_to_keep(hash);
    }
    return true;
}

}  // namespace

Path* scan_of_columns(PlannerInfo* root, Path* scan, const List* keys, ComputedKeys* computed) {
    if (!IS_SIMPLE_REL(scan->parent) || gives_columns_alone(scan)) return nullptr;
    Path* below = scan->pathtype == T_SeqScan ? without_computing(root, scan) : nullptr;
    if (IsA(scan, ProjectionPath)) below = reinterpret_cast<ProjectionPath*>(scan)->subpath;
    if (!below || below->pathtype != T_SeqScan || !gives_columns_alone(below)) return nullptr;
    return look_at_keys(root, scan->parent, keys, computed) ? below : nullptr;
}

}  // namespace gpujoin
