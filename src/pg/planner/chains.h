// Chains of joins in one node. Core's search for the order of joins goes on as ever; beside the paths of a
// join relation the cheapest chain that gives its rows is remembered, one that a single process runs and one
// that several do, whether or not a path of it is kept: a small dimension that core's hash join wins alone
// may make the whole cheaper when its rows stay in the engine. A join whose probe side has a chain extends
// it.
//
// A stage may be a chain's where the engine decides about every pair (no residual, no condition above the
// join that filters its rows, nothing that may be undecided), and where each of its keys is over the probe
// input or the build side of one earlier stage alone: of one and the same, unless it is an inner join. Such a
// key is computed when that input is read: for rows, too, that no earlier stage finds a partner for. So it
// cannot fail. And after an outer join it is a bare column, which is NULL in rows without a partner, as it
// must be.
#pragma once

#include "pg/planner/join_call.h"

namespace gpujoin {

// The cheapest chain that gives the relation's rows. nullptr: none is known.
const Chain* cheapest_chain(const RelOptInfo* rel, bool is_partial);

// Whether a join of this type might extend a chain, or begin one. Asked first of all: it is cheap.
bool may_chain(const JoinCall& call, JoinType jointype);

// Ways to run a join as one more stage of a chain, serial and parallel; those that are worth a look at the
// conditions.
inline constexpr int kMaxSteps = 2;
struct ChainSteps {
    JoinInputs inputs[kMaxSteps];
    int count = 0;
};
ChainSteps chain_steps(const JoinCall& call, const Proposal& proposal, const JoinInputs& inputs,
                       RelOptInfo* build_rel);

// Remembers the chain if it is the relation's cheapest, and gives the relation a path of it.
void add_chain(const JoinCall& call, const JoinInputs& step);

// Which input of a chain an expression can be computed with: a stage's number, whose build side it is, or
// kProbeChild, also where it has no columns. False where that is no single one, where rows of the chain have
// no columns of it, or where an outer join may null what it is computed from, but for a bare column.
bool find_child(PlannerInfo* root, const Chain* chain, Node* expression, int* child);

}  // namespace gpujoin
