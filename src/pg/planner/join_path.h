// GpuJoinPath: a join that the planner may choose to run here.
#pragma once

#include "pg/plan_data.h"
#include "pg/planner/clauses.h"

extern "C" {
#include "postgres.h"
#include "nodes/extensible.h"
}

namespace gpujoin {

// custom_paths = (probe, build).
struct GpuJoinPath {
    CustomPath path;
    JoinKind kind;
    const JoinClauses* clauses;
    CostTerms costs;
    double shares;  // how many such parts both inputs and the result come in
};

}  // namespace gpujoin
