// What the engine is told where only the first rows of ORDER BY ... LIMIT are wanted: so that others, or
// groups, are left out where they are made, and need not come here to be looked at (executor/top_rows). It is
// told of keys that are numbers to it, by which a column of the join, or of complete groups, is sorted.
//
// A fragment that is told is another one than that which joins partitions, of which no part knows all rows.
#pragma once

#include "pg/executor/spec.h"

namespace gpujoin {

// While the spec is made, before columns are counted: the key of a join's rows, of which the source or a
// stage then has a column. Its count is 0 where the engine is not to be told.
TopSpec find_top_of_rows(FragmentParts* parts);

// Once the spec is made.
void use_top_rows(GpuJoinState* state, const TopSpec& top);

// Of groups that the node above finishes by itself: final is the entry of that node's scan tuple, from 0,
// that it sorts by.
void use_top_groups(GpuJoinState* state, const TopRowsPlan& top, int final);

}  // namespace gpujoin
