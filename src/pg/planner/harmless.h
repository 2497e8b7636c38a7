// What raises no error whatever rows it comes to, and other things that are looked for in expressions before
// subqueries become joins (decorrelation.h). Queries are as the rewriter leaves them: conditions are neither
// flattened nor folded.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

template <typename T>
T* as(Node* node) {
    return reinterpret_cast<T*>(node);
}

Node* copy_of(const void* node);

// Whether something is of a query further out.
bool refers_to_outer_queries(Node* node);
// SubLinks that are not within others. In the current memory context, as all that is made here.
List* sublinks_of(Node* node);

bool is_harmless(Node* expression);
bool are_harmless(List* expressions);

// A column of a query so many levels above; nullptr: it is none.
const Var* as_column(Node* node, Index level);

// Whether there is an aggregate that may raise an error, or is of another query. context: none.
bool has_other_aggregate(Node* node, void* context);
// With aggregates as what they give without rows; with aggregates, or subqueries, as values of which nothing
// is known. context: none.
Node* without_rows(Node* node, void* context);
Node* with_any_results(Node* node, void* context);
Node* with_any_sublinks(Node* node, void* context);

// Adds conditions that all are to hold, of one that may be several.
List* flatten(Node* condition, List* conditions);

}  // namespace gpujoin
