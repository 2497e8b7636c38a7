// The cost model: every row and byte is charged once for each thing that happens to it.
//
//   set-up     gpujoin.startup_cost                              connecting, opening, the first round trips
//   a row in   gpujoin.encode_cost a value                       from the slot into a batch
//              gpujoin.transfer_cost a MB                        to the server, and results back
//   build      gpujoin.build_cost a row, times log2(rows) / 5 where a range needs it sorted
//   probe      gpujoin.probe_cost a row, times the same where a range searches a tree
//   a row out  gpujoin.emit_cost, and the residual's own cost for each candidate pair
//
// Units are the planner's. Core's serial hash join of 5M rows with 5M is estimated at 423,000 units and
// takes 2.2 to 5.6 s, so that a unit is 5 to 13 microseconds; the defaults are times of the engine and the
// executor on the same machines, divided by that.
//
// Reading the inputs is charged as core charges it, less what is saved on sequential scans of tables: core's
// scan takes 35 to 42 ns a row, and reading pages straight into columns 14 ns, encoding included.
//
// In parallel plans a participant is charged for its part of the rows, but for all of the server's work: the
// server is one for all, and each of them waits for it.
//
// What a range returns is nearly unknown to core (13.9 G rows estimated, 1.1 M found), so beyond
// kTrustedFanout results an input row its estimate is not charged for: the inputs' sizes decide first.
#include "pg/planner/cost.h"

#include <algorithm>
#include <cmath>

#include "pg/settings.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

constexpr double kMegabyte = 1024.0 * 1024.0;
constexpr double kDeviceSpeedup = 8;            // of build and probe on a GPU over the CPU engine
constexpr double kDirectReadSaving = 0.5;       // of cpu_tuple_cost, a row that is read from its page
constexpr double kTrustedFanout = 32;           // results an input row
constexpr double kLevelsPerHash = 5;            // levels of a sort or a search that cost as much as a hash
constexpr double kServerBytesPerBuildRow = 48;  // table or tree, at its peak while sealing

// One input's keys and wanted columns: how many values a row has in a batch, and their bytes.
struct RowShape {
    int values = 0;
    double bytes = 0;
};

void add_keys(RowShape* shape, const List* terms, bool of_build) {
    ListCell* cell;
    foreach (cell, terms) {
        const JoinTerm* term = static_cast<JoinTerm*>(lfirst(cell));
        Node* key = static_cast<Node*>(of_build ? lsecond(term->clause->args) : linitial(term->clause->args));
        ColumnType type = column_of(term->plan.encoding).type;
        shape->values++;
        shape->bytes +=
            type == ColumnType::Bytes ? get_typavgwidth(exprType(key), exprTypmod(key)) : fixed_width(type);
    }
}

RowShape key_shape(const JoinClauses* clauses, bool of_build) {
    RowShape shape;
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters})
        add_keys(&shape, terms, of_build);
    return shape;
}

// Wanted columns travel with the build side, unless only whether a row matched matters.
RowShape payload_shape(const JoinInputs& inputs) {
    bool probe_rows_only = inputs.kind == JoinKind::Semi || inputs.kind == JoinKind::Anti;
    if (probe_rows_only && !inputs.clauses->residual) return {};
    const PathTarget* target = inputs.build->pathtarget;
    return {list_length(target->exprs), static_cast<double>(target->width)};
}

// Pairs that satisfy the terms, before the residual decides.
double candidate_pairs(PlannerInfo* root, const JoinInputs& inputs) {
    SpecialJoinInfo join = {};
    join.type = T_SpecialJoinInfo;
    join.jointype = JOIN_INNER;
    join.min_lefthand = join.syn_lefthand = inputs.probe->parent->relids;
    join.min_righthand = join.syn_righthand = inputs.build->parent->relids;
    double pairs = inputs.probe->rows * inputs.build->rows;
    const RestrictInfo* previous = nullptr;  // a condition may have become two terms, one after the other
    for (const List* terms : {inputs.clauses->equalities, inputs.clauses->ranges, inputs.clauses->filters}) {
        ListCell* cell;
        foreach (cell, terms) {
            RestrictInfo* source = static_cast<JoinTerm*>(lfirst(cell))->source;
            if (source != previous)
                pairs *= clause_selectivity(root, reinterpret_cast<Node*>(source), 0, JOIN_INNER, &join);
            previous = source;
        }
    }
    return pairs;
}

// Rows that come out of the engine.
double engine_results(PlannerInfo* root, const JoinInputs& inputs) {
    double results = inputs.rows;
    if (inputs.clauses->residual || inputs.clauses->pushed_down)
        results = std::max(results, candidate_pairs(root, inputs));
    if (inputs.clauses->ranges)
        results = std::min(results, kTrustedFanout * (inputs.probe->rows + inputs.build->rows));
    return results;
}

Cost input_cost(double rows, const RowShape& shape) {
    return rows * (shape.values * setting_encode_cost + shape.bytes / kMegabyte * setting_transfer_cost);
}

// How many times the work of a hash lookup a row takes.
double search_depth(const JoinInputs& inputs) {
    return inputs.clauses->ranges ? std::max(1.0, std::log2(inputs.build->rows + 2) / kLevelsPerHash) : 1.0;
}

// What the executor reads from pages rather than through the scan node: columns of a plain sequential scan.
bool is_read_directly(const Path* child) {
    if (child->pathtype != T_SeqScan) return false;
    ListCell* cell;
    foreach (cell, child->pathtarget->exprs)
        if (!IsA(lfirst(cell), Var)) return false;
    return true;
}

Cost read_saving(const Path* child) {
    if (!is_read_directly(child)) return 0;
    return kDirectReadSaving * cpu_tuple_cost * child->parent->tuples /
           parallel_shares(child->parallel_workers);
}

Cost condition_cost(PlannerInfo* root, const JoinClauses* clauses, QualCost* condition) {
    QualCost pushed_down;
    cost_qual_eval(condition, clauses->residual, root);
    cost_qual_eval(&pushed_down, clauses->pushed_down, root);
    condition->per_tuple += pushed_down.per_tuple;
    return condition->startup + pushed_down.startup;
}

}  // namespace

int participants(const JoinInputs& inputs) {
    bool leader = inputs.workers == 0 || parallel_leader_participation;
    return inputs.workers + (leader ? 1 : 0);
}

double parallel_shares(int workers) {
    if (workers == 0) return 1;
    return workers + (parallel_leader_participation ? std::max(0.0, 1 - 0.3 * workers) : 0);
}

JoinEstimate estimate_join(PlannerInfo* root, const PathTarget* target, const JoinInputs& inputs,
                           bool has_gpu) {
    RowShape build_keys = key_shape(inputs.clauses, true);
    RowShape payload = payload_shape(inputs);
    RowShape build_row = {build_keys.values + payload.values, build_keys.bytes + payload.bytes};
    double build_rows = inputs.build->rows;
    double probe_rows = inputs.probe->rows;

    // What the server does for all participants.
    double shares = parallel_shares(inputs.workers);
    double built_rows = build_rows * (inputs.sharing == Sharing::Probe ? participants(inputs) : shares);
    double engine_speed = (has_gpu ? kDeviceSpeedup : 1) / search_depth(inputs);
    Cost engine_build = built_rows * setting_build_cost / engine_speed;
    Cost engine_probe = probe_rows * shares * setting_probe_cost / engine_speed;

    Cost build = inputs.build->total_cost - read_saving(inputs.build) + input_cost(build_rows, build_row) +
                 engine_build;
    Cost probe = inputs.probe->total_cost - inputs.probe->startup_cost - read_saving(inputs.probe) +
                 input_cost(probe_rows, key_shape(inputs.clauses, false)) + engine_probe;

    QualCost condition;
    Cost startup = condition_cost(root, inputs.clauses, &condition) + target->cost.startup;
    double results = engine_results(root, inputs);
    Cost emit = results * (setting_emit_cost + condition.per_tuple +
                           payload.bytes / kMegabyte * setting_transfer_cost) +
                inputs.rows * target->cost.per_tuple;

    bool emits_at_end = inputs.kind == JoinKind::RightSemi || inputs.kind == JoinKind::RightAnti;
    JoinEstimate estimate;
    estimate.startup_cost =
        startup + setting_startup_cost + inputs.probe->startup_cost + build + (emits_at_end ? probe : 0);
    estimate.total_cost = estimate.startup_cost + emit + (emits_at_end ? 0 : probe);
    estimate.server_bytes = built_rows * (build_row.bytes + kServerBytesPerBuildRow);
    return estimate;
}

}  // namespace gpujoin
