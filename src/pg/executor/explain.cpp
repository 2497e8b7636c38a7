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
    auto* condition = reinterpret_cast<Node*>(make_ands_explicit(clauses));
    ExplainPropertyText(label, deparse_expression(condition, context, shows_table_names(es), false), es);
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
        {"spill", "Spill"},
        {"read probe", "Read Probe"},
        {"encode probe", "Encode Probe"},
        {"transfer probe", "Transfer Probe"},
        {"probe", "Probe"},
        {"expansion", "Expansion"},
        {"aggregate", "Aggregate"},
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

// How much of all parts of an input needed not be read: it varies with what happened before. False where none
// was looked for.
bool sum_kept(const Side* side, KeptFigures* sum) {
    bool has_any = false;
    *sum = {};
    for (int i = 0; i < side->part_count; i++) {
        KeptFigures figures;
        if (!side->parts[i].kept || !kept_source_figures(side->parts[i].kept, &figures)) continue;
        *sum = {sum->chunks + figures.chunks, sum->used + figures.used, sum->blocks + figures.blocks,
                sum->passed_over + figures.passed_over};
        has_any = true;
    }
    return has_any;
}

// skipped_rows: of those that need not be read, how many the server did not look at either.
void show_kept(const char* name, const Side* side, uint64 skipped_rows, ExplainState* es) {
    KeptFigures figures;
    if (!es->costs || !sum_kept(side, &figures)) return;
    uint64 read = figures.blocks - figures.passed_over;
    if (es->format == EXPLAIN_FORMAT_TEXT) {
        appendStringInfoSpaces(es->str, 2 * es->indent);
        appendStringInfo(es->str, "%s: %u of %u chunks, blocks read " UINT64_FORMAT, name, figures.used,
                         figures.chunks, read);
        if (skipped_rows > 0) appendStringInfo(es->str, ", rows skipped " UINT64_FORMAT, skipped_rows);
        appendStringInfoChar(es->str, '\n');
        return;
    }
    ExplainOpenGroup(name, name, true, es);
    ExplainPropertyInteger("Chunks Used", nullptr, figures.used, es);
    ExplainPropertyInteger("Chunks", nullptr, figures.chunks, es);
    ExplainPropertyUInteger("Blocks Read", nullptr, read, es);
    ExplainPropertyUInteger("Rows Skipped", nullptr, skipped_rows, es);
    ExplainCloseGroup(name, name, true, es);
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
    show_kept("Kept Build", &stage->build, before->skipped_rows + now->skipped_rows, es);
}

// The node's waiting is told with the first stage's probe.
void show_probe(const GpuJoinState* state, const JoinStage* stage, ExplainState* es) {
    const JoinStats* before = &stage->finished;
    const JoinStats* now = &stage->current;
    double waited_ms = state->waited_ms + (state->client ? client_waited_ms(state->client) : 0);
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    const char* waited = stage > state->stages ? nullptr : text ? "waited" : "Wait Time";
    Traffic probe = {"Probe",
                     before->probe_rows + now->probe_rows,
                     before->probe_batches + now->probe_batches,
                     before->probe_bytes + now->probe_bytes,
                     {text ? "probe" : "Probe Time", waited},
                     {before->probe_ms + now->probe_ms, waited_ms}};
    show_traffic(&probe, es);
}

// What depends on the engine: whether stages were probed together, and what the server charged to the join,
// at most, while sealing and in all.
void show_engine_figures(const JoinStage* stage, ExplainState* es) {
    const JoinStats* before = &stage->finished;
    const JoinStats* now = &stage->current;
    if (before->fused || now->fused) ExplainPropertyBool("Fused", true, es);
    ExplainPropertyUInteger("Peak Seal Memory", "kB",
                            Max(before->peak_seal_memory, now->peak_seal_memory) / 1024, es);
    ExplainPropertyUInteger("Peak Memory", "kB", Max(before->peak_memory, now->peak_memory) / 1024, es);
}

void show_stage_figures(const GpuJoinState* state, const JoinStage* stage, ExplainState* es) {
    show_build(stage, es);
    show_probe(state, stage, es);
    if (es->costs) show_engine_figures(stage, es);
}

// What each of several devices did.
void show_shares(const GpuJoinState* state, ExplainState* es) {
    const SinkStats sink = all_of_sink(state);
    const ReplicaStats* end = sink.replica + kMaxReplicas;
    while (end > sink.replica && end[-1].rows == 0) end--;
    if (end == sink.replica) return;
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    if (text) {
        appendStringInfoSpaces(es->str, 2 * es->indent);
        appendStringInfoString(es->str, "Shares:");
    } else {
        ExplainOpenGroup("Shares", "Shares", false, es);
    }
    for (const ReplicaStats* replica = sink.replica; replica < end; replica++) {
        if (text) {
            appendStringInfo(es->str, "%s rows=" UINT64_FORMAT, replica > sink.replica ? "," : "",
                             replica->rows);
            if (es->timing) appendStringInfo(es->str, " %.3f ms", replica->ms);
            continue;
        }
        ExplainOpenGroup("Share", nullptr, true, es);
        ExplainPropertyUInteger("Rows", nullptr, replica->rows, es);
        if (es->timing) ExplainPropertyFloat("Time", "ms", replica->ms, 3, es);
        ExplainCloseGroup("Share", nullptr, true, es);
    }
    if (text)
        appendStringInfoChar(es->str, '\n');
    else
        ExplainCloseGroup("Shares", "Shares", false, es);
}

// What came to the groups of all participants.
void show_sink(const GpuJoinState* state, ExplainState* es) {
    const SinkStats sink = all_of_sink(state);
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    if (!text) {
        ExplainOpenGroup("Groups", "Groups", true, es);
        ExplainPropertyUInteger("Rows", nullptr, sink.rows, es);
        if (es->costs) {
            ExplainPropertyUInteger("Escaped Rows", nullptr, sink.escaped_rows, es);
            ExplainPropertyUInteger("Partial Groups", nullptr, sink.groups, es);
            ExplainPropertyUInteger("Peak Memory", "kB", sink.peak_memory / 1024, es);
        }
        if (es->timing) ExplainPropertyFloat("Aggregate Time", "ms", sink.ms, 3, es);
        ExplainCloseGroup("Groups", "Groups", true, es);
        return;
    }
    appendStringInfoSpaces(es->str, 2 * es->indent);
    appendStringInfo(es->str, "Groups: rows=" UINT64_FORMAT, sink.rows);
    if (es->costs) {
        if (sink.escaped_rows > 0)
            appendStringInfo(es->str, " escaped rows=" UINT64_FORMAT, sink.escaped_rows);
        appendStringInfo(es->str, " partial groups=" UINT64_FORMAT " memory=" UINT64_FORMAT "kB", sink.groups,
                         sink.peak_memory / 1024);
    }
    if (es->timing) appendStringInfo(es->str, " aggregate=%.3f ms", sink.ms);
    appendStringInfoChar(es->str, '\n');
}

void show_partitions(const PartitionFigures& partitions, ExplainState* es) {
    const uint64 spilled_kb = partitions.bytes / 1024;
    if (es->format == EXPLAIN_FORMAT_TEXT) {
        appendStringInfoSpaces(es->str, 2 * es->indent);
        appendStringInfo(es->str,
                         "Partitions: " UINT64_FORMAT "  Passes: " UINT64_FORMAT "  Spilled: " UINT64_FORMAT
                         "kB\n",
                         partitions.count, partitions.passes, spilled_kb);
        return;
    }
    ExplainPropertyUInteger("Partitions", nullptr, partitions.count, es);
    ExplainPropertyUInteger("Passes", nullptr, partitions.passes, es);
    ExplainPropertyUInteger("Spilled", "kB", spilled_kb, es);
}

void show_figures(const GpuJoinState* state, ExplainState* es) {
    show_kept("Kept", &state->probe.side, all_of_sink(state).skipped_rows, es);
    if (es->costs && state->device[0]) ExplainPropertyText("Device", state->device, es);
    if (es->costs) show_shares(state, es);
    if (state->plan.stage_count == 1) show_stage_figures(state, state->stages, es);
    if (state->plan.groups) show_sink(state, es);
    if (es->costs && state->partitions.figures.count > 0) show_partitions(state->partitions.figures, es);
    if (es->costs && es->verbose && state->parallel.worker_count > 0) show_workers(&state->parallel, es);
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

// A chain's stages, each a group of its own with its figures.
void show_chain(const GpuJoinState* state, CustomScanState* node, List* ancestors, ExplainState* es) {
    bool text = es->format == EXPLAIN_FORMAT_TEXT;
    ExplainOpenGroup("Stages", "Stages", false, es);
    for (int i = 0; i < state->plan.stage_count; i++) {
        const JoinStage* stage = &state->stages[i];
        ExplainOpenGroup("Stage", nullptr, true, es);
        if (text) {
            appendStringInfoSpaces(es->str, 2 * es->indent);
            appendStringInfo(es->str, "Stage %d\n", i + 1);
            es->indent++;
        }
        show_stage(stage, node, ancestors, es);
        if (es->analyze && has_run(stage)) show_stage_figures(state, stage, es);
        if (text) es->indent--;
        ExplainCloseGroup("Stage", nullptr, true, es);
    }
    ExplainCloseGroup("Stages", "Stages", false, es);
}

// Columns that the planner has relabelled as what they are, as they were.
Node* unrelabelling_mutator(Node* node, void*) {
    if (!node) return nullptr;
    if (!IsA(node, RelabelType)) return mutate_expression(node, unrelabelling_mutator, nullptr);
    auto* relabel = reinterpret_cast<RelabelType*>(node);
    auto* argument = reinterpret_cast<Node*>(relabel->arg);
    bool is_same =
        relabel->resulttype == exprType(argument) && relabel->resultcollid == exprCollation(argument);
    return is_same ? unrelabelling_mutator(argument, nullptr)
                   : mutate_expression(node, unrelabelling_mutator, nullptr);
}

// What rows are grouped by, as the node's target list has it.
void show_group_keys(const GpuJoinState* state, CustomScanState* node, List* ancestors, ExplainState* es) {
    List* context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
    bool prefix = shows_table_names(es);
    List* keys = NIL;
    ListCell* cell;
    foreach (cell, group_exprs_of(state, kKeyExprs))
        keys =
            lappend(keys, deparse_expression(unrelabelling_mutator(static_cast<Node*>(lfirst(cell)), nullptr),
                                             context, prefix, true));
    if (keys != NIL) ExplainPropertyList("Group Key", keys, es);
}

}  // namespace

void explain_node(CustomScanState* node, List* ancestors, ExplainState* es) {
    auto* state = reinterpret_cast<GpuJoinState*>(node);
    if (es->analyze) snapshot_stats(state);
    if (state->plan.groups) show_group_keys(state, node, ancestors, es);
    if (state->plan.stage_count > 1) show_chain(state, node, ancestors, es);
    if (state->plan.stage_count == 1) show_stage(state->stages, node, ancestors, es);
    if (es->verbose && state->probe.carries) ExplainPropertyText("Result Order", "Any", es);
    show_top_rows(state->plan.top, &node->ss.ps, all_of_sink(state).left_out, es);
    if (es->verbose && es->costs) show_costs(&state->plan.costs, es);
    bool ran = state->plan.stage_count > 0 ? has_run(state->stages) : state->device[0] != '\0';
    if (es->analyze && ran) show_figures(state, es);
}

}  // namespace gpujoin
