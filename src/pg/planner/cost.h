// What a GpuJoin is expected to cost, in the planner's units, and what memory it takes in the server.
#pragma once

#include "pg/plan_data.h"
#include "pg/planner/clauses.h"
#include "wire/stats.h"

namespace gpujoin {

// What the processes of a parallel plan share. Paths and rows are then a participant's part of what is
// shared.
enum class Sharing {
    Nothing,   // one process runs the join
    Probe,     // each has a part of the probe side, and a copy of the build side of its own
    OneBuild,  // each has a part of both sides; one build side
};

// One way to run a join.
struct JoinInputs {
    JoinKind kind;
    const JoinClauses* clauses;
    Path* probe;
    Path* build;
    double rows;  // expected results
    int workers;  // beside the leader
    Sharing sharing;
};

// Processes that run the join; 1 outside of parallel plans.
int participants(const JoinInputs& inputs);

// How many parts core expects the rows of a parallel plan to come in: the leader, busy with its workers, does
// less than one of them.
double parallel_shares(int workers);

struct JoinEstimate {
    CostTerms terms;
    Cost startup_cost;    // before the first row
    Cost total_cost;      // the sum of the terms
    double server_bytes;  // of all build sides
};

// rates: of the device; all 0 where it was not measured.
JoinEstimate estimate_join(PlannerInfo* root, const PathTarget* target, const JoinInputs& inputs,
                           const EngineRates& rates);

// Two terms that do not depend on the join's conditions, so that all others come on top of them: setting up a
// join, and the workers once more, and reading an input.
Cost set_up_cost(const EngineRates& rates);
Cost reading_cost(const Path* input);

}  // namespace gpujoin
