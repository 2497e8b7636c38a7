// The scale that PostgreSQL gives the values of a numeric expression: known beforehand where these are of
// columns with a declared one, which may come through a UNION ALL or a subquery, of constants and integers,
// and of sums, differences and products of these.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Of the values of an expression, by which arms of CASEs are taken.
struct ScaleRange {
    int low;
    int high;
    int whole;  // digits before the point that a value may have
};

// The scales that PostgreSQL may give values of the expression. False where these depend on more than which
// arms are taken, or the expression is none that decimals can be computed of.
bool find_scales(PlannerInfo* root, Node* node, ScaleRange* range);

// The one scale of all values; false where there is none.
bool find_scale_of(PlannerInfo* root, Node* node, int* scale);

// Casts of int2, int4 and int8 to numeric.
bool is_integer_cast(Oid function);

Node* without_relabelling(Node* node);
// The same, with a COALESCE as the CASE that it stands for.
Node* as_choice(Node* node);

}  // namespace gpujoin
