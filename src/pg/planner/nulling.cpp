// See nulling.h.
#include "pg/compat.h"

#include "pg/planner/nulling.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {
namespace {

bool is_same(const Node* one, const Node* other) {
    if (nodeTag(one) != nodeTag(other)) return false;
    if (IsA(one, PlaceHolderVar))
        return reinterpret_cast<const PlaceHolderVar*>(one)->phid ==
               reinterpret_cast<const PlaceHolderVar*>(other)->phid;
    const auto* var = reinterpret_cast<const Var*>(one);
    const auto* other_var = reinterpret_cast<const Var*>(other);
    return var->varno == other_var->varno && var->varattno == other_var->varattno;
}

// `reference` is a list of Vars and PlaceHolderVars.
Node* nulling_mutator(Node* node, void* reference) {
    if (!node) return nullptr;
    if (!IsA(node, Var) && !IsA(node, PlaceHolderVar))
        return mutate_expression(node, nulling_mutator, reference);
    ListCell* cell;
    foreach (cell, static_cast<List*>(reference)) {
        const auto* found = static_cast<const Node*>(lfirst(cell));
        if (!is_same(node, found)) continue;
        auto* copy = static_cast<Node*>(copyObjectImpl(node));
        copy_nulling(copy, found);
        return copy;
    }
    return IsA(node, Var) ? static_cast<Node*>(copyObjectImpl(node))
                          : mutate_expression(node, nulling_mutator, reference);
}

List* columns_of(const void* expressions) {
    auto* node = static_cast<Node*>(const_cast<void*>(expressions));
    return pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_INCLUDE_PLACEHOLDERS);
}

bool has_same(const List* columns, const Node* column) {
    ListCell* cell;
    foreach (cell, columns)
        if (is_same(static_cast<const Node*>(lfirst(cell)), column)) return true;
    return false;
}

List* with_nulling_of_columns(const List* expressions, List* columns) {
    auto* node = const_cast<Node*>(reinterpret_cast<const Node*>(expressions));
    return reinterpret_cast<List*>(nulling_mutator(node, columns));
}

}  // namespace

List* with_nulling_of(const List* expressions, const List* reference) {
    if (!kTellsNulling) return const_cast<List*>(expressions);
    return with_nulling_of_columns(expressions, columns_of(reference));
}

List* with_nulling_of_target(const List* entries, const List* target) {
    if (!kTellsNulling) return const_cast<List*>(entries);
    List* given = columns_of(entries);
    List* columns = columns_of(target);
    ListCell* cell;
    foreach (cell, columns) {  // to which it appends
        const auto* column = static_cast<const Node*>(lfirst(cell));
        if (IsA(column, PlaceHolderVar) && !has_same(given, column))
            columns =
                list_concat(columns, columns_of(reinterpret_cast<const PlaceHolderVar*>(column)->phexpr));
    }
    return with_nulling_of_columns(entries, columns);
}

}  // namespace gpujoin
