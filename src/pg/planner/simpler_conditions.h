// Conditions in the words of simpler ones.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The elements of a list or of a constant array as expressions. False for others: where elements may fail,
// which PostgreSQL evaluates before it compares any, and where there are more than a program could test.
bool find_elements(Node* node, List** elements);

// x = ANY (list) is x = the first OR x = the second ...; with ALL it is AND. nullptr where the list is empty,
// or has no elements in the sense of find_elements().
Expr* as_comparisons(const ScalarArrayOpExpr* clause);

// The CASE of comparisons that a comparison with a CASE is; nullptr for any other.
CaseExpr* as_compared_case(const OpExpr* clause);

}  // namespace gpujoin
