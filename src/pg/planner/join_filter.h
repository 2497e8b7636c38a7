// A filter program of a join, with the expressions that its operands stand for.
#pragma once

#include "pg/plan_data.h"

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
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

}  // namespace gpujoin
