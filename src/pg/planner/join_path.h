// GpuJoinPath: joins that the planner may choose to run here, one or a chain of them, and what becomes of
// their rows.
#pragma once

#include "pg/plan_data.h"
#include "pg/planner/clauses.h"

extern "C" {
#include "postgres.h"
#include "nodes/extensible.h"
}

namespace gpujoin {

// What the processes of a parallel plan share. Paths and rows are then a participant's part of what is
// shared.
enum class Sharing {
    Nothing,   // one process runs the join
    Probe,     // each has a part of the probe side, and a copy of the build side of its own
    OneBuild,  // each has a part of the probe side; one build side, which all read a part of, or one reads
};

// What rows consist of, or those parts of them that are concerned.
struct RowShape {
    int values = 0;
    double bytes = 0;
    double copied_bytes = 0;  // of values without a fixed width
    Cost computing = 0;       // of values that are no columns, a row

    RowShape& operator+=(const RowShape& other) {
        values += other.values;
        bytes += other.bytes;
        copied_bytes += other.copied_bytes;
        computing += other.computing;
        return *this;
    }
};

// What a chain of joins is expected to take up to the rows of its last stage.
struct ChainCosts {
    CostTerms terms;      // but for what becomes of its rows
    double source_rows;   // of the probe input of the first stage
    double rows;          // of the last stage, as the engine gives them
    RowShape output;      // that they have of build sides
    double server_bytes;  // of all build sides
    double partitions;    // that are joined one after the other; 1: they all fit
    Cost kept_builds;     // what is saved on build sides that need not be read
    double kept;          // the share of the source that need not be read, where its columns go all the way
    Cost lone_source;     // what it takes beyond that to read the source, and build sides, in one process: of
    Cost lone_builds;     // the former all is spared that need not be read
};

// A chain of joins, as its last stage and what comes before that. Lives as long as the join relation whose
// rows it gives. Of a chain without a stage there is one, too, which is its probe input alone.
struct Chain {
    const Chain* before;  // nullptr: the first stage, whose probe side is the probe input
    Path* probe;          // input, of the first stage
    Path* build;          // of this stage; nullptr: there is none
    RelOptInfo* joinrel;  // what this stage makes; or that the probe input is of
    const JoinClauses* clauses;
    JoinKind kind;
    bool builds_together;  // build is a partial path
    Sharing sharing;
    int length;
    int workers;  // beside the leader
    ChainCosts costs;
    Cost risk;  // that its inputs take more (see rivals.h)
};

struct GroupsInput;

// custom_paths = (probe input, build side of each stage).
struct GpuJoinPath {
    CustomPath path;
    const Chain* chain;
    const GroupsInput* groups;  // nullptr: the rows of the last stage come out (planner/groups_input.h)
    CostTerms costs;
};

// A path that gives the rows of a chain: parent, target and costs are for the caller to set.
GpuJoinPath* make_chain_path(const Chain* chain);

// Whether a path is one that make_chain_path() made.
bool is_gpu_join(const Path* path);

}  // namespace gpujoin
