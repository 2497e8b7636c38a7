// GpuJoinState: the running node: its probe input, and its stages, each a join with a build side. Plain and
// palloc'd by PostgreSQL; nothing in it has a destructor. The life of a join: Initial (nothing opened) →
// Probing → Scanning (joins that emit build rows by themselves, and groups) → Done.
#pragma once

#include "pg/client/client.h"
#include "pg/compat.h"
#include "pg/executor/emitter.h"
#include "pg/executor/escaped_rows.h"
#include "pg/executor/group_emitter.h"
#include "pg/executor/pace.h"
#include "pg/executor/probe_batch.h"
#include "pg/executor/row_file.h"
#include "pg/executor/row_flags.h"
#include "pg/executor/source.h"
#include "pg/executor/top_rows.h"
#include "pg/join_statistics.h"
#include "pg/plan_data.h"
#include "pg/running_joins.h"
#include "pg/server_state.h"

extern "C" {
#include "nodes/execnodes.h"
}

namespace gpujoin {

inline constexpr int kBatchesInFlight = 2;

// Whether there is a join to be counted (counting.h).
enum class Counting : uint8_t { Nothing, Uncounted, Counted };

enum class Phase : uint8_t { Initial, Probing, Scanning, Done };

// Consecutive clauses of the residual, or of the conditions that the filter program may leave undecided.
struct PairTest {
    ExprState* clauses;
    bool only_undecided;  // of other pairs the engine has tested them
};

// Which candidates are matches (decide.h).
struct Decider {
    uint32_t probe_row;    // of the oldest batch: not decided yet; rows before it are
    bool matched;          // it has a match already
    uint8* build_matched;  // one bit a build row, for joins that ask for build rows afterwards
    uint64_t build_rows;
};

struct ParallelJoin;  // what the participants share, in the query's dynamic shared memory (parallel.cpp)

// What a worker did, summed over rescans.
struct WorkerFigures {
    JoinCounts counts;
    double waited_ms;
};

// A process's part in a parallel join, and what the leader has collected of the others.
struct ParallelPart {
    ParallelJoin* join;      // nullptr: the join runs in this process alone
    bool has_opened;         // the session, which the others attach to
    bool is_probing;         // attached to join->probing
    WorkerFigures* workers;  // leader, once collected
    int worker_count;
};

// The probe input: rows that stream past, and go on with those that match them.
struct ProbeInput {
    Side side;
    Bitmapset* emitted;    // attributes of the child that rows of the join have
    bool reads_on_demand;  // no more rows are read than are needed for the next result (pace.h)
    bool can_be_reread;    // from the start, in the middle of a run
    bool carries;          // what is emitted of it goes through the engine and comes back with the results
    int* result_of;        // then [attribute - 1]: which column of results an emitted one is
    bool leaves_kept;      // kept rows of it are read all the same: there was no memory for them
    bool keeps;            // otherwise, if rows of the joins come out: what of it waits here for the results
    KeptColumn* kept;
    int kept_count;
    Pace pace;  // of the batches
    ProbeBatch batches[kBatchesInFlight];
    int oldest;  // of the batches in flight
    int in_flight;
};

// One join of the node: its build side, and what is decided about its pairs.
struct JoinStage {
    const StagePlan* plan;
    List* exprs;  // by StageExprs

    // Set when the plan starts.
    Side build;
    Bitmapset* emitted;  // attributes of the build child that rows of the join have
    int* result_of;      // [attribute - 1]: which column of results an emitted one is
    JoinSpec* spec;      // in the fragment's
    PairTest* tests;     // of joins other than INNER they decide matches; of INNER joins they filter rows
    int test_count;
    bool build_uses_params;  // keys may change with a Param

    // The running join.
    JoinKind kind;      // that it is run as: the plan's, or a partition's
    bool was_read;      // some of the build side was
    uint64 sent_bytes;  // of it
    SealReport seal;
    Decider decider;

    // Figures.
    JoinStats finished;  // sums over joins that were closed
    JoinStats current;   // of the open join, when last asked for
    SealReport last_seal;
};

struct Partition;  // what is joined by itself of a join for which memory is short (partition.h)
struct SharedPartitions;
struct Connection;  // to the server, without a session (client/connection.h)

// Rows of the current partition that find a match are flagged (match_flags.h).
struct MatchFlags {
    RowFlags* flags;    // nullptr: they are not
    bool leaves_out;    // rows that have a flag are not read
    bool is_silent;     // no row comes out
    uint64_t sequence;  // of the batch of the row that was flagged last, which is called so in the batch and
    uint32_t row;
    uint64_t number;  // so in the file
};

// The stage that runs alone (lone_stage.h).
struct LoneStage {
    bool runs;
    int number;
    Side* side;  // that it is searched by
    FragmentSpec* fragment;
    StageSpec* spec;
};

// Rows of a scan that are read here.
struct ScannedRows {
    int* attributes;    // by column of results: which of the child's slot it is, from 0
    const RowSet* set;  // nullptr: there is none (yet)
    uint32_t next;      // of the set
};

// What partitions came to, for EXPLAIN, in all runs and of all participants that have told.
struct PartitionFigures {
    uint64 count;
    uint64 bytes;   // written to files
    uint64 passes;  // how often a row was written, at most
};

inline void add_partitions(PartitionFigures* sum, const PartitionFigures& one) {
    *sum = {sum->count + one.count, sum->bytes + one.bytes, Max(sum->passes, one.passes)};
}

struct Partitions {
    bool are_used;  // otherwise the join runs as a whole
    Partition* current;
    Partition* waiting;
    SharedPartitions* shared;  // of a parallel join, from where more come; or nullptr
    Partition* whole;          // then: the files that all of them share
    PartitionFigures figures;
    int waited_ms;       // since the server refused memory for a join that is small
    bool waits_in_vain;  // it did all the same when there was no more patience; and since then, but from its
                         // reserve
    bool takes_reserve;  // of the server's: what is joined now cannot be divided, and was refused
    Connection* hold;    // keeps the server from one partition to the next; nullptr: none
    MatchFlags matches;
    LoneStage lone;
};

struct GpuJoinState {
    CustomScanState css;  // first
    PlanData plan;

    // Set when the plan starts.
    ProbeInput probe;
    JoinStage* stages;  // plan.stage_count of them; groups may be of the probe input itself
    List* group_exprs;  // by GroupExprs
    FragmentSpec* fragment;
    StageSpec* stage_specs;
    FragmentSpec* top_fragment;  // the same, of which the first rows are wanted alone; nullptr: all are
    StageSpec* top_stages;
    GroupEmitter groups;  // what emitter does not emit of groups
    EscapedRows escaped;
    Emitter emitter;  // into the scan slot; or, when direct, into the slot that is returned
    bool direct;      // no condition to test and nothing to compute on the scan slot
    bool keep_open;   // the build sides may be wanted again after the last row
    TopRows* top;     // nullptr: all rows are wanted

    // The running join.
    Phase phase;
    Client* client;  // nullptr: none open
    bool sealed;
    bool build_is_empty;  // nothing was opened, because a build side that must have a row has none
    bool has_view;
    ResultView view;
    uint32_t next_row;  // of the view
    ScannedRows scanned;
    ParallelPart parallel;
    Partitions partitions;  // of a join for which memory is short

    // Figures.
    MemoryContextCallback failure_callback;
    JoinCounts counts;  // of the open session, and since the last one
    Counting counting;
    bool is_counted_elsewhere;
    bool has_heard_of_move;
    uint64 step_began_us;     // 0: the node is not at work
    RunningJoin* shown;       // as others see it; nullptr: they do not
    SinkStats finished_sink;  // sums over joins that were closed
    SinkStats current_sink;   // of the open join, when last asked for
    double waited_ms;         // in joins that were closed
    char device[64];
};

inline List* exprs_of(const JoinStage* stage, StageExprs which) {
    return list_nth_node(List, stage->exprs, which);
}

inline List* group_exprs_of(const GpuJoinState* state, GroupExprs which) {
    return list_nth_node(List, state->group_exprs, which);
}

inline FragmentView fragment_of(const GpuJoinState* state) {
    const LoneStage* lone = &state->partitions.lone;
    if (lone->runs) return {lone->fragment, {lone->spec, 1}};
    const auto stages = static_cast<size_t>(state->plan.stage_count);
    if (state->top_fragment && !state->partitions.are_used)
        return {state->top_fragment, {state->top_stages, stages}};
    return {state->fragment, {state->stage_specs, stages}};
}

// The stages that run, from the first to before the end.
inline int first_stage(const GpuJoinState* state) {
    return state->partitions.lone.runs ? state->partitions.lone.number : 0;
}

inline int end_of_stages(const GpuJoinState* state) {
    return state->partitions.lone.runs ? state->partitions.lone.number + 1 : state->plan.stage_count;
}

// What streams past them.
inline Side* probing_side(GpuJoinState* state) {
    return state->partitions.lone.runs ? state->partitions.lone.side : &state->probe.side;
}

// A plain join's stage, for all that there is in such nodes alone: pairs that are decided here, and build
// rows that come out by themselves.
inline JoinStage* only_stage(const GpuJoinState* state) {
    Assert(state->plan.stage_count == 1 && !state->plan.groups);
    return state->stages;
}

// The participants have one join together: each does not join partitions by itself.
inline bool runs_together(const GpuJoinState* state) {
    return state->parallel.join && !state->partitions.are_used;
}

// The steps to an open join with the build side in it, for one process alone or each participant of a
// parallel join. attach_join() is false, with the reason, when the server refuses, and so is open_join()
// where memory is short. Refusals of memory are kept from then on (client_keep_refusal()).
bool open_join(GpuJoinState* state, Status* refusal);
bool attach_join(GpuJoinState* state, const SessionKey* key, Status* refusal);
void append_build_side(GpuJoinState* state, JoinStage* stage);
// Of a parallel join, once all participants have appended what they have: has all stages sealed.
void seal_stages(GpuJoinState* state);
void wait_until_sealed(GpuJoinState* state);

// Connects, reads the build sides, seals; where there is too little memory for them, for a first partition of
// the join. Leaves the phase Probing, or Done where there can be no row.
void start_join(GpuJoinState* state);

// Makes the next result of the current phase current (state->view), keeping batches in flight meanwhile.
// False when there is none left; and when memory is short, with the phase Initial, where the join begins
// again.
bool next_result(GpuJoinState* state);

// Probing is over: goes on to the build rows that have (not) matched or the groups that are left, or to Done.
void finish_probing(GpuJoinState* state);

// Of groups that have not begun to come: runs the join up to the first result that has some, or rows. True:
// they are complete, and all of them come in the results from this one on; or there are none.
bool come_complete(GpuJoinState* state);

// Scanning is over.
void finish_scanning(GpuJoinState* state);

// Takes figures from the server, for EXPLAIN ANALYZE. No more than a snapshot: the join may go on.
void snapshot_stats(GpuJoinState* state);
void add_stats(JoinStats* sum, const JoinStats* one);
void add_sink_stats(SinkStats* sum, const SinkStats* one);
// Of all that has run.
SinkStats all_of_sink(const GpuJoinState* state);

// Gives back everything at the server.
void close_join(GpuJoinState* state);

// Closes a join that was refused memory; it goes on in another way.
void give_up_attempt(GpuJoinState* state);

// Nothing more is wanted of it before it is rescanned.
void abandon_join(GpuJoinState* state);

// Makes ready to probe again with the build side as it is.
void rewind_join(GpuJoinState* state);

// The node gives the rows of its probe input that meet its conditions. What is kept of them comes from the
// server, and all others from the scan.
inline bool is_scan(const GpuJoinState* state) {
    return state->plan.stage_count == 0 && !state->plan.groups;
}

inline bool has_result_row(const GpuJoinState* state) {
    return state->has_view && state->next_row < state->view.rows;
}

// The batch that the current result belongs to.
inline ProbeBatch* oldest_batch(GpuJoinState* state) {
    return &state->probe.batches[state->probe.oldest];
}

// The server gives candidates, and which of them are matches is decided here.
inline bool client_decides(const GpuJoinState* state) {
    return state->plan.stage_count > 0 && !state->plan.groups && !state->partitions.lone.runs &&
           state->stages->spec->client_decides;
}

// The last stage, whose kind says what rows come out.
inline JoinStage* last_stage(const GpuJoinState* state) {
    Assert(state->plan.stage_count > 0);
    return &state->stages[state->plan.stage_count - 1];
}

// Whether the pair in the scan slot, of the current result, is a match as far as this side decides: whether
// it meets the residual, and where the server could not tell the conditions, in the order of the plan.
bool candidate_holds(GpuJoinState* state);

// begin.cpp: BeginCustomScan.
void begin_node(CustomScanState* node, EState* estate, int eflags);

// explain.cpp: ExplainCustomScan.
void explain_node(CustomScanState* node, List* ancestors, ExplainState* es);

}  // namespace gpujoin
