// What a GPU Join is expected to cost, in the planner's units, and what memory it takes in the server.
#pragma once

#include "pg/planner/join_path.h"
#include "pg/planner/undeclared_keys.h"
#include "pg/server_state.h"

namespace gpujoin {

// The columns that are wanted above an input, and the values that conditions compare. Of conditions that are
// not known there is a value of each side at least.
RowShape wanted_shape(const PathTarget* target);
RowShape key_shape(PlannerInfo* root, const JoinClauses* clauses, bool of_build);
inline constexpr RowShape kSomeKey = {1, 0, 0};

// What all ways to run a join in one direction have in common.
struct JoinFacts {
    JoinKind kind;
    const JoinClauses* clauses;  // nullptr: not known yet
    RowShape probe_columns;
    RowShape build_columns;
    RowShape probe_keys = kSomeKey;
    RowShape build_keys = kSomeKey;
    double underestimate = 1;  // by what factor more rows are likely to come out (undeclared_keys.h)
};

// One way to run a join.
struct JoinInputs {
    const JoinFacts* facts;
    const Chain* before;  // whose rows are the probe side; nullptr: those of `probe` are
    Path* probe;          // input of the first stage
    Path* build;
    double rows;  // expected results
    int workers;  // beside the leader
    Sharing sharing;
    bool builds_together;  // build is a partial path

    double probe_rows() const { return before ? before->costs.rows : likely_rows(probe); }
};

// Processes that run the join; 1 outside of parallel plans.
int participants(const JoinInputs& inputs);

// How many parts core expects the rows of a parallel plan to come in: the leader, busy with its workers, does
// less than one of them.
double parallel_shares(int workers);

struct JoinEstimate {
    CostTerms terms;
    Cost startup_cost;    // before the first row
    Cost total_cost;      // the sum of the terms, before anything is charged for lone reading
    Cost lone_reading;    // what it takes beyond that where several processes could read, next to their plans
    double server_bytes;  // of all build sides
};

Cost sum_of(const CostTerms& terms);

// The engine's share of the work, in the planner's units, and its memory.
struct EngineCosts {
    uint64 memory;  // bytes that build sides of a join may take in the server; 0: as many as they want
    Cost setup;
    Cost stage;  // one more join of a chain
    Cost build_row;
    Cost probe_row;
    Cost match;
    Cost pair;
    Cost megabyte;
};

// As measured on the device. A forced plan has the same shape on every machine, and is not refused for want
// of memory.
EngineCosts engine_costs(const PlanningFacts& server);

// Of rows of which that many values are encoded.
Cost encode_cost(double rows, const RowShape& shape);

// Where the clauses are not known, the least that the join costs whatever they are: looking at conditions
// takes longer than all of this.
// chain: up to the rows of this join.
JoinEstimate estimate_join(PlannerInfo* root, const PathTarget* target, const JoinInputs& inputs,
                           const ChainCosts& chain, const EngineCosts& engine);

// The costs of a chain without a stage: of its probe input, which that many workers read beside the leader.
ChainCosts estimate_source(PlannerInfo* root, const Path* probe, int workers, const EngineCosts& engine);

// The costs of a chain up to the rows of this join, as if its build sides found memory (else: spilling.h).
// Where the clauses are not known, the least.
ChainCosts estimate_chain(PlannerInfo* root, const JoinInputs& inputs, const EngineCosts& engine);

// What a chain costs up to the rows of its last stage, if these can be aggregated.
Cost least_cost(const Path* probe, const ChainCosts& costs);

// What the aggregates of a chain's rows read and give.
struct GroupsShape {
    RowShape source;   // values of the probe input that are read beyond keys of joins
    int work;          // keys and aggregates
    int columns;       // of groups
    double groups;     // a participant's part of those that come out
    bool may_be_kept;  // of the probe input, whose rows may be kept then
};

// The rows of a chain without a stage, as they are wanted above it.
JoinEstimate estimate_rows(const Chain* chain, const PathTarget* target, const EngineCosts& engine);

// A chain whose rows are aggregated.
JoinEstimate estimate_groups(const Chain* chain, const GroupsShape& shape, const EngineCosts& engine);

// Of so many rows, in memory.
Cost sorting_cost(double rows);

// Two terms that do not depend on the join's conditions, so that all others come on top of them: setting up a
// join, and the workers once more, and reading an input.
Cost set_up_cost(const EngineCosts& engine);
Cost reading_cost(const Path* input);
// The cheapest way for one process to read a relation, if what is kept of it need not be read: by a
// sequential scan, where core has found another path cheaper; also where it has found a scan by workers
// cheaper, and the table is small and may be kept from now on.
Path* cheapest_build_scan(PlannerInfo* root, RelOptInfo* rel);
// The same of a probe input, but only where rows of it are kept; and of the source of a chain, which is like
// a build side where there are groups above.
Path* cheapest_probe_scan(PlannerInfo* root, RelOptInfo* rel);
Path* cheapest_source_scan(PlannerInfo* root, RelOptInfo* rel);

// Whether the last join of a node lets it take kept rows of its probe input, whose columns then come back
// with the results.
bool can_carry_kept_rows(const PlannerInfo* root, JoinKind kind, const JoinClauses* clauses, Sharing sharing);

// Whether a LIMIT, EXISTS or cursor above may stop the join early: nothing below that takes all of its rows
// first. (The join's rows have no order, so any that is wanted is made above it.)
bool is_bounded(const PlannerInfo* root);

}  // namespace gpujoin
