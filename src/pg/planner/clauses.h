// The condition of a join in normal form:
//
//   equalities   probe expression = build expression, on encodable values
//   ranges       probe expression < <= > >= build expression, on values whose order can be encoded
//   filters      probe expression <> build expression
//   conditions   what an engine can evaluate for a pair (filters.h)
//   residual     everything else, which only PostgreSQL can decide; terms may have narrowed it down already
//
// Core tests what it neither hashes nor merges by in a certain order (test_order.h), in which a condition may
// guard another against an error. Terms come first here, whatever they cost: their expressions raise none.
// Conditions and residual are in core's order, each among themselves and together.
//
// A term's expression is over the columns of one input alone and is evaluated once a row, never once a pair;
// it is neither volatile nor does it hold a SubPlan. Conditions above an outer join (pushed down to it by
// syntax, but filtering after NULL extension) are kept apart: they are no part of the join's condition.
#pragma once

#include "pg/plan_data.h"
#include "pg/planner/filters.h"
#include "pg/planner/join_sides.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

struct JoinTerm {
    RestrictInfo* source;
    OpExpr* clause;  // left argument over the probe side, right one over the build side
    Expr* written;   // the condition that it is from, as the query has it, but the probe side on the left
    PlanTerm plan;
};

// Lists live in the planner's memory context.
struct JoinClauses {
    List* equalities;  // of JoinTerm
    List* ranges;      // of JoinTerm
    List* filters;     // of JoinTerm
    List* conditions;  // of RestrictInfo, in the order in which core would test them, as in their program
    List* residual_before;  // of int: for each condition how many of the residual come before it
    List* residual;         // of RestrictInfo, in the order in which core would test them
    List* pushed_down;      // of RestrictInfo, in that order
    JoinFilter* compiled;   // the conditions' program; nullptr: there are none (see filter_of)
    bool searchable;        // a search can find the partners of a row: an equality or a range links the sides
};

// Puts a join's restrictlist into normal form. nullptr when nothing in it can drive a join here: no equality,
// no range and no condition between the two sides.
JoinClauses* classify_clauses(List* restrictlist, const JoinSides& sides);

// The program of the conditions, empty where there are none.
const JoinFilter& filter_of(const JoinClauses* clauses);

// The bare clauses of a list of JoinTerms (List of OpExpr), and the conditions that they are from.
List* term_clauses(const List* terms);
List* written_conditions(const List* terms);

}  // namespace gpujoin
