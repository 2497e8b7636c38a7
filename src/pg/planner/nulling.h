// From 16 on, Vars and PlaceHolderVars name the outer joins below that may have made them null, and core
// checks that an expression of a node and the entry of custom_scan_tlist that it finds agree on that. Ours
// disagree by nature: a join's clauses speak of its inputs, what is above it speaks of its result, and both
// find the same entries.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
}

namespace gpujoin {

// Copies of the expressions, whose Vars and PlaceHolderVars are as nullable as the same ones of `reference`;
// what `reference` lacks stays as it is. Before 16, the expressions themselves.
List* with_nulling_of(const List* expressions, const List* reference);

// The same for entries that a node computes its target from: PlaceHolderVars that they lack are computed by
// the node, from Vars that may be nowhere else in the target. Of the same one the first in the target counts.
List* with_nulling_of_target(const List* entries, const List* target);

}  // namespace gpujoin
