// EXPLAIN of a GPU Join. Conditions and the algorithm that was forced are shown always; what ran, and its
// figures, with ANALYZE. Figures that vary from run to run or machine to machine appear only where costs
// (device, bytes) or timing (milliseconds) are on.
#include "pg/executor/state.h"
#include "pg/settings.h"

extern "C" {
#include "nodes/makefuncs.h"
#include "utils/ruleutils.h"
}

namespace gpujoin {

namespace {

// What went through one input, with the milliseconds of up to two steps.
struct Traffic {
    const char* name;
    uint64_t rows;
    uint64_t batches;
    uint64_t bytes;
    const char* step[2];
    double milliseconds[2];
};

void show_condition(const char* label, List* clauses, CustomScanState* node, List* ancestors,
                    ExplainState* es) {
    if (clauses == NIL) return;
    List* context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
    bool prefix = list_length(es->rtable) > 1 || es->verbose;
    auto* condition = reinterpret_cast<Node*>(make_ands_explicit(clauses));
    ExplainPropertyText(label, deparse_expression(condition, context, prefix, false), es);
}

void show_traffic_text(const Traffic* traffic, ExplainState* es) {
    appendStringInfoSpaces(es->str, 2 * es->indent);
    appendStringInfo(es->str, "%s: rows=%llu", traffic->name, static_cast<unsigned long long>(traffic->rows));
    if (es->costs)
        appendStringInfo(es->str, " batches=%llu bytes=%llu",
                         static_cast<unsigned long long>(traffic->batches),
                         static_cast<unsigned long long>(traffic->bytes));
    for (int i = 0; es->timing && i < 2; i++)
        if (traffic->step[i])
            appendStringInfo(es->str, " %s=%.3f ms", traffic->step[i], traffic->milliseconds[i]);
    appendStringInfoChar(es->str, '\n');
}

void show_traffic(const Traffic* traffic, ExplainState* es) {
    if (es->format == EXPLAIN_FORMAT_TEXT) return show_traffic_text(traffic, es);
    ExplainOpenGroup(traffic->name, traffic->name, true, es);
    ExplainPropertyUInteger("Rows", nullptr, traffic->rows, es);
    if (es->costs) {
        ExplainPropertyUInteger("Batches", nullptr, traffic->batches, es);
        ExplainPropertyUInteger("Bytes", nullptr, traffic->bytes, es);
    }
    for (int i = 0; es->timing && i < 2; i++)
        if (traffic->step[i]) ExplainPropertyFloat(traffic->step[i], "ms", traffic->milliseconds[i], 3, es);
    ExplainCloseGroup(traffic->name, traffic->name, true, es);
}

void show_worker_text(const WorkerFigures* worker, int number, ExplainState* es) {
    appendStringInfoSpaces(es->str, 2 * es->indent);
    appendStringInfo(es->str, "Worker %d:  build rows=" UINT64_FORMAT " probe rows=" UINT64_FORMAT, number,
                     worker->counts.build_rows, worker->counts.probe_rows);
    if (es->timing) appendStringInfo(es->str, " waited=%.3f ms", worker->waited_ms);
    appendStringInfoChar(es->str, '\n');
}

void show_worker(const WorkerFigures* worker, int number, ExplainState* es) {
    if (es->format == EXPLAIN_FORMAT_TEXT) return show_worker_text(worker, number, es);
    ExplainOpenGroup("Join Worker", nullptr, true, es);
    ExplainPropertyInteger("Worker Number", nullptr, number, es);
    ExplainPropertyUInteger("Build Rows", nullptr, worker->counts.build_rows, es);
    ExplainPropertyUInteger("Probe Rows", nullptr, worker->counts.probe_rows, es);
    if (es->timing) ExplainPropertyFloat("Wait Time", "ms", worker->waited_ms, 3, es);
    ExplainCloseGroup("Join Worker", nullptr, true, es);
}

// What the workers sent of the rows of both sides; the leader sent the rest.
void show_workers(const ParallelPart* part, ExplainState* es) {
    ExplainOpenGroup("Join Workers", "Join Workers", false, es);
    for (int i = 0; i < part->worker_count; i++) show_worker(&part->workers[i], i, es);
    ExplainCloseGroup("Join Workers", "Join Workers", false, es);
}

// What the planner expected; the terms' names in text and in other formats.
void show_costs(const CostTerms* costs, ExplainState* es) {
    constexpr const char* kNames[kCostTermCount][2] = {
        {"set-up", "Set-Up"},
        {"workers", "Workers"},
        {"read build", "Read Build"},
        {"encode build", "Encode Build"},
        {"transfer build", "Transfer Build"},
        {"build", "Build"},
        {"read probe", "Read Probe"},
        {"encode probe", "Encode Probe"},
        {"transfer probe", "Transfer Probe"},
        {"probe", "Probe"},
        {"expansion", "Expansion"},
        {"emission", "Emission"},
    };
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    ExplainOpenGroup("Predicted Cost", "Predicted Cost", true, es);
    if (text) {
        appendStringInfoSpaces(es->str, 2 * es->indent);
        appendStringInfoString(es->str, "Predicted Cost:");
    }
    for (int term = 0; term < kCostTermCount; term++)
        if (text)
            appendStringInfo(es->str, " %s=%.2f", kNames[term][0], costs->cost[term]);
        else
            ExplainPropertyFloat(kNames[term][1], nullptr, costs->cost[term], 2, es);
    if (text) appendStringInfoChar(es->str, '\n');
    ExplainCloseGroup("Predicted Cost", "Predicted Cost", true, es);
}

void show_build(const JoinStage* stage, ExplainState* es) {
    const JoinStats* before = &stage->finished;
    const JoinStats* now = &stage->current;
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    Traffic build = {"Build",
                     before->build_rows + now->build_rows,
                     before->build_batches + now->build_batches,
                     before->build_bytes + now->build_bytes,
                     {text ? "append" : "Append Time", text ? "seal" : "Seal Time"},
                     {before->append_ms + now->append_ms, before->seal_ms + now->seal_ms}};
    show_traffic(&build, es);
}

void show_probe(const GpuJoinState* state, ExplainState* es) {
    const JoinStats* before = &only_stage(state)->finished;
    const JoinStats* now = &only_stage(state)->current;
    double waited_ms = state->waited_ms + (state->client ? client_waited_ms(state->client) : 0);
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    Traffic probe = {"Probe",
                     before->probe_rows + now->probe_rows,
                     before->probe_batches + now->probe_batches,
                     before->probe_bytes + now->probe_bytes,
                     {text ? "probe" : "Probe Time", text ? "waited" : "Wait Time"},
                     {before->probe_ms + now->probe_ms, waited_ms}};
    show_traffic(&probe, es);
}

// What the server charged to the join, at most: while sealing, and in all.
void show_memory(const JoinStage* stage, ExplainState* es) {
    const JoinStats* before = &stage->finished;
    const JoinStats* now = &stage->current;
    ExplainPropertyUInteger("Peak Seal Memory", "kB",
                            Max(before->peak_seal_memory, now->peak_seal_memory) / 1024, es);
    ExplainPropertyUInteger("Peak Memory", "kB", Max(before->peak_memory, now->peak_memory) / 1024, es);
}

void show_figures(const GpuJoinState* state, ExplainState* es) {
    if (es->costs && state->device[0]) ExplainPropertyText("Device", state->device, es);
    for (int i = 0; i < state->plan.stage_count; i++) show_build(&state->stages[i], es);
    show_probe(state, es);
    if (!es->costs) return;
    if (es->verbose && state->parallel.worker_count > 0) show_workers(&state->parallel, es);
    for (int i = 0; i < state->plan.stage_count; i++) show_memory(&state->stages[i], es);
}

bool has_run(const JoinStage* stage) {
    return stage->last_seal.algorithm != Algorithm::Auto;
}

void show_conditions(const JoinStage* stage, CustomScanState* node, List* ancestors, ExplainState* es) {
    auto show = [=](const char* label, List* clauses) {
        show_condition(label, clauses, node, ancestors, es);
    };
    List* residual = exprs_of(stage, kResidualExprs);
    show("Equality Cond", exprs_of(stage, kWrittenEqualities));
    show("Range Cond", exprs_of(stage, kWrittenRanges));
    show("Filter Cond", list_concat_copy(exprs_of(stage, kWrittenFilters), exprs_of(stage, kConditionExprs)));
    show("Residual Cond", residual);
    if (es->analyze && node->ss.ps.instrument && residual != NIL)
        ExplainPropertyFloat("Rows Removed by Residual Cond", nullptr,
                             node->ss.ps.instrument->nfiltered2 / Max(node->ss.ps.instrument->nloops, 1), 0,
                             es);
}

void show_stage(const JoinStage* stage, CustomScanState* node, List* ancestors, ExplainState* es) {
    bool ran = es->analyze && has_run(stage);
    Algorithm algorithm = ran ? stage->last_seal.algorithm : static_cast<Algorithm>(setting_algorithm);
    ExplainPropertyText("Join Type", name_of(stage->plan->kind), es);
    if (algorithm != Algorithm::Auto) ExplainPropertyText("Algorithm", name_of(algorithm), es);
    show_conditions(stage, node, ancestors, es);
}

}  // namespace

void explain_node(CustomScanState* node, List* ancestors, ExplainState* es) {
    auto* state = reinterpret_cast<GpuJoinState*>(node);
    if (es->analyze) snapshot_stats(state);
    for (int i = 0; i < state->plan.stage_count; i++) show_stage(&state->stages[i], node, ancestors, es);
    if (es->verbose && state->probe.carries) ExplainPropertyText("Result Order", "Any", es);
    if (es->verbose && es->costs) show_costs(&state->plan.costs, es);
    if (es->analyze && has_run(only_stage(state))) show_figures(state, es);
}

}  // namespace gpujoin
