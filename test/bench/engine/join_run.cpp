// Running one join through the engine contract.
#include "join_run.h"

#include <algorithm>

#include "batch_loop.h"
#include "stopwatch.h"
#include "watchdog.h"

namespace gpujoin::bench {

namespace {

constexpr uint64_t kStreamedSinkBytes = 16u << 20;
constexpr uint64_t kMaxSinkBytes = uint64_t{4} << 30;

ColumnSpec id_column(uint32_t width) {
    return {width == 4 ? ColumnType::Fixed4 : ColumnType::Fixed8, ValueOrder::Unsigned, 0, 0};
}

// abs(probe.key - build.key) < 1 OR probe.key = build.key
FilterProgram make_program() {
    using enum FilterOpcode;
    constexpr FilterType kInt = FilterType::Int32;
    FilterProgram program{};
    program.constants = 1;
    program.constant[0] = 1;
    for (const FilterStep& step : {FilterStep{Load, kInt, FilterSource::Probe, 0, 0, 0},
                                   {Subtract, kInt, FilterSource::Build, 0, 0, 0},
                                   {Absolute, kInt, FilterSource::Stack, 0, 0, 0},
                                   {Less, kInt, FilterSource::Constant, 0, 0, 0},
                                   {Push, kInt, FilterSource::Stack, 0, 0, 0},
                                   {Load, kInt, FilterSource::Probe, 0, 0, 0},
                                   {Equal, kInt, FilterSource::Build, 0, 0, 0},
                                   {Or, kInt, FilterSource::Stack, 0, 0, 0}})
        program.step[program.steps++] = step;
    return program;
}

// Probe columns: key, high key of a band, row number if carried. Build columns: key, row number (the output).
// An index searches ranges: for it, equality is a band of one value.
JoinSpec make_spec(const JoinCase& join_case) {
    const Workload& workload = *join_case.workload;
    JoinSpec spec{};
    spec.kind = JoinKind::Inner;
    spec.algorithm = join_case.algorithm;
    spec.order = join_case.order;
    spec.names_probe_rows = join_case.order != ResultOrder::Any;
    spec.probe[spec.probe_columns++] = key_column(workload.format);
    spec.build[spec.build_columns++] = key_column(workload.format);
    if (workload.is_filter) {
        spec.program = make_program();
    } else if (workload.is_band) {
        spec.probe[spec.probe_columns++] = key_column(workload.format);
        spec.range[spec.ranges++] = {0, 0, Comparison::LessEqual, {}};
        spec.range[spec.ranges++] = {1, 0, Comparison::GreaterEqual, {}};
    } else if (join_case.algorithm == Algorithm::Index) {
        spec.range[spec.ranges++] = {0, 0, Comparison::LessEqual, {}};
        spec.range[spec.ranges++] = {0, 0, Comparison::GreaterEqual, {}};
    } else {
        spec.equality[spec.equalities++] = {0, 0, Comparison::Equal, {}};
    }
    if (join_case.order == ResultOrder::Any) {
        spec.carry[spec.carried++] = spec.probe_columns;
        spec.probe[spec.probe_columns++] = id_column(workload.id_width);
    }
    spec.output[spec.outputs++] = spec.build_columns;
    spec.build[spec.build_columns++] = id_column(workload.id_width);
    spec.estimated_probe_rows = workload.probe.rows * workload.repeats;
    return spec;
}

Columns make_columns(const Workload& workload, const Relation& relation, bool with_high_key, bool with_ids,
                     Place& place) {
    ColumnMaker maker(place, relation.rows);
    maker.add_keys(relation.keys, workload.format);
    if (with_high_key) maker.add_keys(relation.keys, workload.format, workload.band);
    if (with_ids) maker.add_row_numbers(workload.id_width);
    return maker.take();
}

}  // namespace

Inputs make_inputs(const Workload& workload, Place& place) {
    Inputs inputs;
    inputs.probe = make_columns(workload, workload.probe, workload.is_band, workload.unordered, place);
    inputs.build = make_columns(workload, workload.build, false, true, place);
    Check once = place.expect(workload.probe.keys, workload.probe.rows, workload.build.keys,
                              workload.build.rows, workload.is_band, workload.band);
    inputs.expected = {once.rows * workload.repeats, once.sum * workload.repeats};
    return inputs;
}

JoinRun::JoinRun(Engine& engine, const JoinCase& join_case, const Inputs& inputs, Place& from, Place& to)
    : engine_(engine),
      case_(join_case),
      inputs_(inputs),
      from_(from),
      to_(to),
      spec_(make_spec(join_case)),
      sink_bytes_(kStreamedSinkBytes) {
    if (!case_.is_streamed()) {
        constexpr uint64_t kSlack = 1u << 20;
        uint64_t row_bytes = 2 * std::max<uint64_t>(4, case_.workload->id_width);
        sink_bytes_ = std::min(kMaxSinkBytes, inputs.expected.rows * row_bytes + kSlack);
    }
    for (uint32_t thread = 0; thread < case_.threads; thread++) sinks_.push_back(to_.allocate(sink_bytes_));
}

// In batches, no thread goes without one.
uint64_t JoinRun::batch_rows(uint64_t rows) const {
    if (!case_.is_streamed()) return std::max<uint64_t>(rows, 1);
    if (case_.is_build_given()) return kMaxBatchRows;
    return std::clamp<uint64_t>(align_buffer(rows / case_.threads), kBufferAlignment, kTargetBatchRows);
}

Outcome JoinRun::run(bool take_checksum) {
    Outcome outcome;
    cancel_ = false;
    Watchdog watchdog(&cancel_, case_.timeout);
    std::unique_ptr<Join> join;
    auto execute = [&]() -> Status {
        Stopwatch build_time;
        GPUJOIN_RETURN_IF_FAILED(engine_.open(spec_, {&host_memory_, &device_memory_, &cancel_}, &join));
        GPUJOIN_RETURN_IF_FAILED(build_side(*join));
        GPUJOIN_RETURN_IF_FAILED(join->seal(&outcome.seal));
        if (!case_.is_build_given()) outcome.seconds = build_time.seconds();
        GPUJOIN_RETURN_IF_FAILED(probe_side(*join, take_checksum, &outcome));
        outcome.stats = join->stats();
        return {};
    };
    outcome.status = execute();
    return outcome;
}

Status JoinRun::build_side(Join& join) const {
    const uint64_t rows = inputs_.build.rows, step = batch_rows(rows);
    std::span<const ColumnSpec> specs(spec_.build, spec_.build_columns);
    return for_batches(case_.threads, (rows + step - 1) / step, [&](uint32_t, uint64_t batch) {
        uint64_t first = batch * step;
        Slice slice(inputs_.build, specs, first, std::min(step, rows - first), from_.memory());
        return join.append(slice.batch, first);
    });
}

Status JoinRun::probe_side(Join& join, bool take_checksum, Outcome* outcome) const {
    const uint64_t rows = inputs_.probe.rows, step = batch_rows(rows);
    const uint64_t batches = (rows + step - 1) / step;
    outcome->checked = take_checksum || !case_.is_streamed();
    std::vector<Check> checks(case_.threads);
    std::vector<double> excluded(case_.threads);
    Stopwatch probe_time;
    Status status =
        for_batches(case_.threads, batches * case_.workload->repeats, [&](uint32_t thread, uint64_t batch) {
            uint64_t first = batch % batches * step;
            Sink sink{sinks_[thread].get(), sink_bytes_, to_.memory()};
            return probe_batch(join, first, std::min(step, rows - first), sink, outcome->checked,
                               &checks[thread], &excluded[thread]);
        });
    outcome->seconds += probe_time.seconds();
    if (!case_.is_streamed()) outcome->seconds -= excluded[0];
    for (const Check& check : checks) outcome->check = outcome->check + check;
    return status;
}

Status JoinRun::probe_batch(Join& join, uint64_t first_row, uint64_t rows, const Sink& sink,
                            bool take_checksum, Check* check, double* excluded) const {
    Slice slice(inputs_.probe, {spec_.probe, spec_.probe_columns}, first_row, rows, from_.memory());
    std::unique_ptr<Cursor> cursor;
    GPUJOIN_RETURN_IF_FAILED(join.probe(slice.batch, &cursor));
    return for_results(*cursor, sink, [&](const ResultBatch& result) -> Status {
        Stopwatch check_time;
        if (take_checksum)
            *check = *check + check_result(result, sink.memory, first_row);
        else
            check->rows += result.rows;
        *excluded += check_time.seconds();
        return {};
    });
}

Check JoinRun::check_result(const ResultBatch& result, const std::byte* memory, uint64_t first_row) const {
    if (result.rows == 0) return {};
    const uint32_t id_width = case_.workload->id_width;
    ResultRow row{nullptr, memory + result.columns[0].values, sizeof(uint32_t), id_width, first_row};
    if (spec_.carried)
        row = {memory + result.columns[1].values, row.build, id_width, id_width, 0};
    else
        row.probe = memory + result.probe_rows;
    return to_.check(row, result.rows);
}

}  // namespace gpujoin::bench
