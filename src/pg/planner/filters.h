// Conditions over both sides that an engine can evaluate, translated into a filter program.
#pragma once

#include "pg/plan_data.h"
#include "pg/planner/join_sides.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The expressions over one side that a program's operands stand for.
struct FilterValues {
    List* expressions;  // of Expr
    PlanValues values;
};

struct JoinFilter {
    FilterProgram program;
    FilterValues probe;
    FilterValues build;
};

// Adds a condition to those that the program tests, in their order. False, and nothing done, where an engine
// cannot evaluate it.
bool add_condition(JoinFilter* filter, Expr* clause, const JoinSides& sides);

// Makes an empty program give a number, the expression's value read as the type, for values alone that exist
// in each row: none stands for an overflow. False as above.
bool add_number(JoinFilter* filter, Node* expression, Oid type, const JoinSides& sides);

}  // namespace gpujoin
