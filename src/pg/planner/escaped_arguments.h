// What PostgreSQL computes of a row that an engine could not aggregate: conditions and arguments of
// aggregates, over the values that programs read, since these are all that comes back of the row
// (executor/escaped_rows.h).
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
}

namespace gpujoin {

// The expression in a form whose columns all lie within values; nullptr where there is none. Programs are
// made of other forms than the expression's own: what is not among the values by itself may be in one of
// these.
Node* over_values(Node* expression, List* values);

}  // namespace gpujoin
