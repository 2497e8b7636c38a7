// Expressions that cannot raise an error. A term's expression is evaluated for every row of its input. Core
// does the same with the keys of a hash join, but evaluates other conditions only for the pairs that those
// let through: there, `a.x < 100 / b.y` is no error for a row with y = 0 that has no partner.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// True when evaluating the expression raises no error for any row, apart from overflows that the executor
// takes for NULL (overflow.h).
bool cannot_fail(Node* expression);

}  // namespace gpujoin
