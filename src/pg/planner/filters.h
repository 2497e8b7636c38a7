// Conditions over both sides that an engine can evaluate, translated into a filter program.
#pragma once

#include "pg/planner/join_filter.h"
#include "pg/planner/join_sides.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Adds a condition to those that the program tests, in their order. False, and nothing done, where an engine
// cannot evaluate it.
bool add_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides);

// The same for a condition on one row, all of whose columns are on the probe side. Comparisons of numerics
// are taken too: values that are not as they seem leave the row undecided, where core has no error to raise.
bool add_row_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides);

// Makes an empty program give a number, the expression's value read as the type, for values alone that exist
// in each row: none stands for an overflow. False as above.
bool add_number(JoinFilter* filter, Node* expression, Oid type, const JoinSides& sides);

// The same for a condition: 1 where it is true, 0 where it is false, or NULL.
bool add_number_of_truth(JoinFilter* filter, Node* condition, const JoinSides& sides);

// The same for a numeric, in units of 10^-scale. All values have that scale in PostgreSQL, too; but where the
// expression is a CASE of two arms, one may give values of a lower scale: then has_scale is the condition for
// the other one, else nullptr.
struct DecimalScale {
    int scale;
    int lower;
    Expr* has_scale;
};
bool add_decimal(JoinFilter* filter, Node* expression, const JoinSides& sides, DecimalScale* scale);

}  // namespace gpujoin
