// See lone_stage.h. The source has all columns of its input, so that batches are written as ever.
#include "pg/executor/lone_stage.h"

#include "pg/allocate.h"

namespace gpujoin {

namespace {

int child_of_origin(uint16_t origin) {
    return origin == kFromSource ? kProbeChild : origin;
}

// Which column of the input a probe column of the stage is.
uint16_t input_column(const GpuJoinState* state, const StageSpec* stage, uint16_t probe_column) {
    ColumnRef ref = stage->probe[probe_column];
    return ref.origin == kFromSource ? ref.column : state->stage_specs[ref.origin].join.output[ref.column];
}

void set_source(const GpuJoinState* state, int searcher, FragmentSpec* spec) {
    memset(static_cast<void*>(spec), 0, offsetof(FragmentSpec, value));
    spec->sink = SinkKind::Rows;
    const FragmentSpec* fragment = state->fragment;
    const JoinSpec* join = searcher == kProbeChild ? nullptr : &state->stage_specs[searcher].join;
    spec->source_columns = join ? join->build_columns : fragment->source_columns;
    memcpy(spec->source, join ? join->build : fragment->source, sizeof(ColumnSpec) * spec->source_columns);
}

void set_probe(const FragmentSpec* spec, StageSpec* stage) {
    stage->join.probe_columns = spec->source_columns;
    memcpy(stage->join.probe, spec->source, sizeof(ColumnSpec) * spec->source_columns);
    for (uint16_t i = 0; i < spec->source_columns; i++) stage->probe[i] = {kFromSource, i};
}

void set_terms(const GpuJoinState* state, const StageSpec* planned, Term* terms, int count) {
    for (int i = 0; i < count; i++)
        terms[i].probe_column = input_column(state, planned, terms[i].probe_column);
}

void set_program(const GpuJoinState* state, const StageSpec* planned, FilterProgram* program) {
    for (int i = 0; i < program->steps; i++) {
        FilterStep* step = &program->step[i];
        if (has_source(step->opcode) && step->source == FilterSource::Probe)
            step->operand = input_column(state, planned, step->operand);
    }
}

void set_join(JoinSpec* join) {
    join->kind = JoinKind::Semi;
    join->outputs = join->carried = 0;
}

}  // namespace

int searcher_of(const GpuJoinState* state, int stage) {
    const StageSpec* spec = &state->stage_specs[stage];
    int searcher = kProbeChild;
    for (int i = 0; i < spec->join.probe_columns; i++) {
        int child = child_of_origin(spec->probe[i].origin);
        if (i > 0 && child != searcher) return kNoChild;
        searcher = child;
    }
    return searcher;
}

void run_stage_alone(GpuJoinState* state, int stage, int searcher) {
    LoneStage* lone = &state->partitions.lone;
    if (!lone->fragment) {
        MemoryContext context = state->css.ss.ps.state->es_query_cxt;
        lone->fragment = unset_in<FragmentSpec>(context);
        lone->spec = unset_in<StageSpec>(context);
    }
    lone->runs = true;
    lone->number = stage;
    lone->side = searcher == kProbeChild ? &state->probe.side : &state->stages[searcher].build;
    const StageSpec* planned = &state->stage_specs[stage];
    StageSpec* spec = lone->spec;
    *spec = *planned;
    set_source(state, searcher, lone->fragment);
    set_probe(lone->fragment, spec);
    set_join(&spec->join);
    set_terms(state, planned, spec->join.equality, spec->join.equalities);
    set_terms(state, planned, spec->join.range, spec->join.ranges);
    set_terms(state, planned, spec->join.filter, spec->join.filters);
    set_program(state, planned, &spec->join.program);
}

}  // namespace gpujoin
