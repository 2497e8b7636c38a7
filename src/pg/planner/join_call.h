// JoinCall: what one call of the join hook is about, and the ways to run a join of its type.
#pragma once

#include "pg/planner/cost.h"
#include "pg/planner/verdicts.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Which input must be reduced to distinct rows first, so that a semijoin becomes an inner join.
enum class Unique { Neither, Outer, Inner };

// A way to run a join of the type that the hook is called for.
struct Proposal {
    JoinType jointype;
    JoinKind kind;
    bool builds_outer;  // the outer relation is the build side
    Unique unique;
    bool may_copy_build;  // workers may each have a copy of the build side
};

struct JoinCall {
    PlannerInfo* root;
    RelOptInfo* joinrel;
    RelOptInfo* outer;
    RelOptInfo* inner;
    JoinPathExtraData* extra;
    PathTarget* target;            // of our paths: the relation's, but for row identities
    bool has_core_paths;           // there is another way to run the join
    bool may_win;                  // a path of the join alone might be kept
    const Chain* outer_chains[2];  // the cheapest of the outer relation, serial and partial (chains.h)
    EngineCosts engine;
    RowShape outer_columns;
    RowShape inner_columns;
    Verdict* verdict;  // asked for: what refuses the join, or what it costs; no paths are added then
};

// The join as the last stage of a chain, perhaps the only one.
Chain chain_of(const JoinCall& call, const JoinInputs& inputs, const ChainCosts& costs);

// Gives the join relation a path for this way to run the join, if it may be kept.
void add_join_path(const JoinCall& call, const JoinInputs& inputs);

// What is above a semijoin may refer to the row that was matched: its columns stand for the outer ones that
// they equal.
bool wants_matched_row(const JoinCall& call);

// The cheapest path of a relation that workers may run too, where there is one.
Path* parallel_safe_path(RelOptInfo* rel);

// A join that would be refused for want of memory is not planned, unless it runs in partitions (spilling.h)
// or there is no other way to run it.
bool finds_memory(const JoinCall& call, const JoinInputs& inputs, double server_bytes);
void refuse_memory(const JoinCall& call, double server_bytes);

}  // namespace gpujoin
