// PlanData: what the planner decided, for the executor. It travels through CustomScan.custom_private as plain
// Nodes (copied, serialised to parallel workers, kept in cached plans); expressions travel in
// CustomScan.custom_exprs, where setrefs and Param finalisation see them.
//
// A node has a probe input and a chain of stages, each of which is one join with a build side of its own;
// what comes out of the last stage are the node's rows, or is aggregated. Children: custom_plans = (probe
// child, build child of each stage). custom_scan_tlist = the probe child's target list ++ the build
// children's ++ what groups have beyond columns of these. custom_private = (node's integers, integers of each
// stage, or of the groups). custom_exprs = a list for each stage, of the lists of StageExprs, and one for the
// groups, of the lists of GroupExprs.
//
// The terms are OpExprs whose left argument is over the probe child, or over the build child of one earlier
// stage, and the right one over the stage's build child (commuted by the planner where need be); after
// setrefs their Vars are INDEX_VARs into custom_scan_tlist. Conditions are what the filter program stands
// for, in its order, to be tested again on undecided pairs; its operands are numbers of the probe's and
// build's values, expressions over one child each. The residual is a list of boolean expressions. Both are in
// the order in which they must be tested, and residual_before says how they come together. The written lists
// have the conditions that the terms are from, for EXPLAIN: a term may compute something else, in bigint or
// saturated, or be a part of a condition.
//
// A condition on range types is two terms with one and the same clause, which compare bounds. A term encoded
// as Hash64 is only a necessary condition: its clause is in the residual as well. A term may have a Const for
// one side: a condition on the other side alone. Where a preserved row has no match, and in every row of ANTI
// joins, the other side's entries of the scan tuple are NULL: what is above may refer to them. In a row of a
// SEMI join they are those of one row that matched; nothing refers to them above RightSemi.
#pragma once

#include "pg/key_encoding.h"
#include "pg/top_rows.h"
#include "wire/fragment_spec.h"

extern "C" {
#include "postgres.h"
#include "access/attnum.h"
#include "nodes/pg_list.h"
}

namespace gpujoin {

enum StageExprs {
    kEqualityExprs,
    kRangeExprs,
    kFilterExprs,
    kConditionExprs,
    kProbeValueExprs,
    kBuildValueExprs,
    kResidualExprs,
    kWrittenEqualities,
    kWrittenRanges,
    kWrittenFilters,
    kStageExprsCount
};

// What a key is of its expression's value.
enum class KeyPart : uint8_t { Value, LowerBound, UpperBound };

struct PlanTerm {
    KeyEncoding encoding;   // of both sides
    Comparison comparison;  // probe <comparison> build
    KeyPart probe_part = KeyPart::Value;
    KeyPart build_part = KeyPart::Value;
};

// A join that does not fit its memory is divided by so many bits of the hash of its keys at once.
inline constexpr int kDivisionBits = 5;

// What the planner expected the node to cost, in its units, by what costs it. Those before kFirstProbeTerm
// come before the first row. For EXPLAIN.
enum CostTerm {
    kSetUpTerm,
    kWorkersTerm,
    kReadBuildTerm,
    kEncodeBuildTerm,
    kTransferBuildTerm,
    kBuildTerm,
    kSpillTerm,
    kReadProbeTerm,
    kFirstProbeTerm = kReadProbeTerm,
    kEncodeProbeTerm,
    kTransferProbeTerm,  // results included
    kProbeTerm,
    kExpansionTerm,
    kAggregateTerm,
    kEmissionTerm,
    kCostTermCount
};
struct CostTerms {
    double cost[kCostTermCount];
};

inline constexpr int kMaxPlanValues = 64;

// A value that the filter program reads: how it is encoded, and read as what type.
struct PlanValue {
    KeyEncoding encoding;
    Oid type;
    int scale;  // Decimal64
};

struct PlanValues {
    int count;
    PlanValue value[kMaxPlanValues];
};

// One join of a node.
struct StagePlan {
    JoinKind kind;
    bool builds_together;  // in a parallel plan: the build child gives each participant a part of its rows
    int first_entry;       // of custom_scan_tlist that is the build child's, from 1
    int equalities;
    int ranges;
    int filters;
    int conditions;
    int residual_before[kMaxFilterSteps];  // for each condition how many of the residual are tested before it
    PlanTerm terms[3 * kMaxTerms];         // equalities, then ranges, then filters
    FilterProgram program;
    PlanValues probe_values;
    PlanValues build_values;
};

enum GroupExprs {
    kKeyExprs,       // what rows are grouped by
    kValueExprs,     // what the aggregates' programs read, by number
    kAnyExprs,       // what any row of a group gives
    kArgumentExprs,  // of each aggregate the filter and the argument, for escaped rows
    kGroupExprsCount
};

// How a group's columns become a value of the scan tuple: what PostgreSQL has as the transition state of the
// aggregate.
enum class StateForm : uint8_t {
    Column,        // the column's value as it is
    Number,        // min, max, and sum of float8: a number of the program, as the type has it
    Single,        // min, max of float4: a number of the program, a float8
    Bigint,        // sum of int2, int4: a sum that may be too large
    CountAndSum,   // avg of int2, int4: int8[2]
    NumericState,  // sum and avg of int8: number of values and sum, as int8_avg_serialize() writes them
    DecimalState,  // sum and avg of numeric: the same as numeric_avg_serialize() writes them
    Decimal,       // min, max of numeric
    SquaresState,  // variances of int2, int4: number, sum and sum of squares, as numeric_poly_serialize()
                   // writes
    FloatAverage,  // avg of float4, float8: float8[3]
    Presence,      // count(DISTINCT): 1 where the column, a key, has a value
};

// An entry of the scan tuple that groups have a value for. Columns count from 0: keys, then aggregates.
struct EntryState {
    int entry;
    StateForm form;
    int column;
    int count_column;  // CountAndSum, NumericState, DecimalState, SquaresState, FloatAverage: of the number
                       // of values
    int third_column;  // DecimalState: of the number of values that have the scale; others have the lower
                       // one. SquaresState: of the sum of squares
    int scale;         // Decimal, DecimalState
    int lower_scale;
    Oid aggregate;  // core's, whose transition state it is; 0: none
    Oid collation;  // of its input
};

inline constexpr int kMaxGroupStates = 256;

// What a GPU Finalize Aggregate does above core's Finalize Aggregate, which is above a GPU Aggregate.
enum class AboveGroups : int {
    Finishes,  // makes core's results of complete groups itself
    PassesOn,  // what core's node combines, for grouping sets
    Chooses,   // the same if the groups are complete, or else rows of another plan
};

// Its custom_private has that, and what top_rows.h appends.
inline constexpr int kIntegersOfNodeAbove = 1;

// What is made of the rows of the last stage.
struct GroupsPlan {
    int keys;
    KeyEncoding key_encoding[kMaxGroupKeys];
    Oid key_type[kMaxGroupKeys];  // as the grouping operator has it
    int any_count;
    PlanValues values;
    int programs;
    FilterProgram* program;  // kMaxValues of them
    int aggregates;
    AggregateSpec aggregate[kMaxAggregates];
    int states;
    EntryState state[kMaxGroupStates];
    double estimated_groups;
    bool completes;  // each had better come once: a node above makes no use of parts of them
};

struct PlanData {
    // The probe input.
    double estimated_probe_rows;
    double estimated_source_rows;  // that are looked at for them, where they are kept
    bool has_dear_conditions;  // the probe child's rows had better be tested one by one, as they are wanted
    bool source_is_kept;       // most of them are expected to be kept
    // The node as a whole.
    bool may_carry;   // where they can, probe columns are to go through the engine rather than wait here
    bool is_bounded;  // a few of the join's rows may be all that is wanted
    TopRowsPlan top;
    CostTerms costs;
    int stage_count;
    StagePlan* stages;
    GroupsPlan* groups;  // nullptr: the node gives the rows of the last stage
};

List* plan_data_to_list(const PlanData* data);
// Allocates the stages and groups.
void plan_data_from_list(const List* list, PlanData* data);
// Once, in a list that has none yet; in place. Others are left alone.
void plan_data_note_top_rows(List* list, const TopRowsPlan& top);

// The child that an entry of the scan tuple is from: a stage, whose build child it is, or the probe child. Of
// entries that are no child's the last stage.
inline constexpr int kProbeChild = -1;
struct ChildColumn {
    int child;
    AttrNumber attribute;
};
ChildColumn child_column(const PlanData* data, int entry);

}  // namespace gpujoin
