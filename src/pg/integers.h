// Integer expressions (int2, int4, bigint): what the planner takes apart and builds.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The value of an integer constant. False for anything else.
bool integer_constant(const void* node, int64* value);

// Is this the function of an integer minus operator (int2, int4, int8 in any combination)?
bool is_integer_minus(Oid function);

// The arguments of an operator or a function, and which one it is; NIL for everything else.
List* call_arguments(const void* node, Oid* function);

Expr* bigint(int64 value);

// The integer expression cast to bigint, unless it is one.
Expr* as_bigint(Expr* expression);

// base + offset as bigint, on an integer expression; the expression itself where offset is 0.
Expr* integer_sum(Expr* base, int64 offset);

// left <strategy> right, of integer expressions. Strategy 0 is <>, which b-tree families do not have.
OpExpr* compare_integers(Expr* left, int strategy, Expr* right);

// The integer expression with its sums, differences, products, quotients and the like computed in bigint: of
// int2 and int4 they can hardly overflow then, which is for cannot_fail() to say (error_free.h). The
// expression itself where it is no such operation.
Expr* in_bigint(Expr* expression);

}  // namespace gpujoin
