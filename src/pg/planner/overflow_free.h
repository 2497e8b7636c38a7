// Comparisons of sums that cannot overflow. A term's expression is evaluated for every row, core's condition
// only for the pairs it comes to: `b.x + 100` on a row with the largest integer and no partner is no error
// there, so it must be none here. Sums and differences of an integer expression and a constant are therefore
// computed so wide, or saturated in such a way, that the comparison has its mathematical answer.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The same comparison of integers with its constants gathered where they cannot overflow; the clause itself
// when there are none; nullptr when it has no form without overflow.
OpExpr* without_overflow(OpExpr* clause);

}  // namespace gpujoin
