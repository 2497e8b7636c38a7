// Conditions on range types (r @> x, x <@ r, r && s, r @> s, r <@ s) as comparisons of bounds.
#pragma once

#include "pg/plan_data.h"

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The two comparisons of bounds, or of bounds with an element, that are a condition on range types. False
// when it is none, or over ranges whose bounds cannot be encoded.
bool find_bound_terms(const OpExpr* clause, PlanTerm terms[2]);

}  // namespace gpujoin
