// From the plan to the fragment's spec: which wire columns each input has (key columns first, then those that
// are given back), how each is encoded, the terms between them, and what becomes of the last stage's rows.
#pragma once

#include "pg/executor/child_columns.h"

namespace gpujoin {

// Whether what is emitted of the probe input is to go through the engine. What is emitted, and tested, must
// be known.
bool carries(const GpuJoinState* state);
// Of a join that carries results come in any order, and of a chain in that of its source.
void set_result_order(const GpuJoinState* state, JoinSpec* spec, bool is_any);

// The spec while it is being made.
struct FragmentParts {
    GpuJoinState* state;
    FragmentSpec* spec;
    StageSpec* stages;
    ChildColumns* children;  // [child + 1]: the probe input, then the build side of each stage
};

// The reference to a column of a child, which it is an output for where the child is a build side.
ColumnRef ref_to(FragmentParts* parts, int child, uint16_t column);

// The number of a sink's input; the same references share one.
uint16_t sink_input(FragmentParts* parts, ColumnRef ref);

// Sets up the spec and the columns of all inputs.
void build_fragment(GpuJoinState* state);

// group_spec.cpp: adds what groups need: keys, programs, aggregates. First its key columns, then others.
void add_group_keys(FragmentParts* parts);
void add_group_values(FragmentParts* parts);

// top_spec.cpp: what the engine is told where only the first rows of ORDER BY ... LIMIT are wanted. Before
// columns are counted: the key of a join's rows, of which the source or a stage then has a column. Its count
// is 0 where the engine is not to be told.
TopSpec find_top_of_rows(FragmentParts* parts);
// Once the spec is made.
void use_top_rows(GpuJoinState* state, const TopSpec& top);
// Of groups that the node above finishes by itself: final is the entry of that node's scan tuple, from 0,
// that it sorts by.
void use_top_groups(GpuJoinState* state, const TopRowsPlan& top, int final);

}  // namespace gpujoin
