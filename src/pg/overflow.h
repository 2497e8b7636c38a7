// Functions that raise no error but one: that the result is out of range (SQLSTATE 22003, 22008). Core calls
// them for a pair, where the conditions before let it; keys and values of filters, which are evaluated for
// every row of an input, are NULL where they overflow, so that such a row has no partner (batch_writer.cpp).
// A filter that NULL could make true has no such values (planner/filter_translator.h).
// Where core would evaluate the expression it would raise the error, so that no row is lost that core has.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// Whether the function is one of them: sums and products of numeric, sums of floats, dates and
// timestamps plus intervals.
bool may_overflow(Oid function);

// Whether an expression calls one of them.
bool may_overflow(Node* expression);

}  // namespace gpujoin
