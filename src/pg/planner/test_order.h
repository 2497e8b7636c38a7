// The order in which core tests conditions that it tests one after the other (order_qual_clauses() in
// createplan.c): cheap ones first, and nothing of a security level before what is of lower ones. Queries come
// to rely on it where one condition guards another, which would raise an error for some pairs.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The conditions (List of RestrictInfo) in that order.
List* in_test_order(PlannerInfo* root, const List* conditions);

}  // namespace gpujoin
