// TopRowsPlan: which of a node's rows can be among the first ones of ORDER BY ... LIMIT, as the planner tells
// the executor. It travels at the end of a list of the node's integers.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/attnum.h"
#include "nodes/pg_list.h"
}

namespace gpujoin {

struct TopRowsPlan {
    int count;          // of the first rows; 0: all rows are wanted
    AttrNumber column;  // of the node's target list, that rows are ordered by first
    Oid ordering;       // its operator
    Oid collation;
    bool has_nulls_first;
    bool is_all;  // rows are ordered by nothing else
};

// Whether something in a target list must be computed for every row, so that rows are not left out before.
bool has_effects_on_rows(List* targetlist);

// Returns the list, longer.
List* append_top_rows(List* integers, const TopRowsPlan& top);
// What has been appended behind `fixed` integers; nothing, where the list ends there. False: it is malformed.
bool top_rows_behind(const List* integers, int fixed, TopRowsPlan* top);

}  // namespace gpujoin
