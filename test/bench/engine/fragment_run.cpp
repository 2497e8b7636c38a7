// Running one fragment through the engine contract.
#include "fragment_run.h"

#include <algorithm>

#include "batch_loop.h"
#include "watchdog.h"

namespace gpujoin::bench {

namespace {

// Has room for kMaxBatchRows rows or groups of any workload that gives so many. No result has more.
constexpr uint64_t kSinkBytes = 64u << 20;

FilterProgram load(uint16_t input, uint32_t width) {
    FilterProgram program{};
    const FilterType type = width == 4 ? FilterType::Int32 : FilterType::Int64;
    program.step[program.steps++] = {FilterOpcode::Load, type, FilterSource::Probe, 0, input, 0};
    return program;
}

// Probe column: the key. Build columns: the key, and what is put out, the attribute.
StageSpec make_stage(uint16_t number, uint64_t rows) {
    StageSpec stage{};
    JoinSpec& join = stage.join;
    join.kind = JoinKind::Inner;
    join.names_probe_rows = 1;
    join.estimated_probe_rows = rows;
    join.probe[join.probe_columns++] = key_column(Format::Int4);
    join.build[join.build_columns++] = key_column(Format::Int4);
    join.build[join.build_columns++] = key_column(Format::Int4);
    join.equality[join.equalities++] = {0, 0, Comparison::Equal, {}};
    join.output[join.outputs++] = 1;
    stage.probe[0] = {kFromSource, number};
    return stage;
}

// Groups are asked for whole, as a client asks that has no others to add. A program for each input serves
// all aggregates of it.
void add_sink(const FragmentWorkload& workload, FragmentSpec* spec) {
    for (uint16_t i = 0; i < workload.source.size(); i++)
        spec->input[spec->inputs++] =
            workload.dimensions.empty() ? ColumnRef{kFromSource, i} : ColumnRef{i, 0};
    spec->sink = workload.has_groups ? SinkKind::Groups : SinkKind::Rows;
    if (!workload.has_groups) return;
    spec->completes_groups = 1;
    spec->estimated_groups = workload.sink().groups();
    if (workload.has_key) spec->key[spec->keys++] = 0;
    std::vector<uint16_t> values(spec->inputs, kNoNumber);
    for (const SinkOutput& output : workload.outputs) {
        AggregateSpec& aggregate = spec->aggregate[spec->aggregates++];
        aggregate = {output.function, 0, kNoNumber, kNoNumber};
        if (output.input == kNoInput) continue;
        uint16_t& value = values[output.input];
        if (value == kNoNumber) {
            value = spec->values++;
            spec->value[value] =
                load(static_cast<uint16_t>(output.input), workload.sink().input[output.input].width);
        }
        aggregate.value = value;
    }
}

std::unique_ptr<FragmentSpec> make_spec(const FragmentWorkload& workload) {
    auto spec = std::make_unique<FragmentSpec>();
    for (const SourceColumn& column : workload.source)
        spec->source[spec->source_columns++] = key_column(column.format);
    spec->source_is_kept = 1;
    spec->estimated_source_rows = workload.rows;
    add_sink(workload, spec.get());
    return spec;
}

}  // namespace

FragmentInputs make_inputs(const FragmentWorkload& workload, Place& place) {
    FragmentInputs inputs;
    ColumnMaker source(place, workload.rows);
    for (const SourceColumn& column : workload.source) source.add_keys(column.keys, column.format);
    inputs.source = source.take();
    for (uint32_t i = 0; i < workload.dimensions.size(); i++) {
        const Relation& relation = workload.dimensions[i];
        ColumnMaker dimension(place, relation.rows);
        dimension.add_keys(relation.keys, Format::Int4);
        dimension.add_attributes(relation.keys, i);
        inputs.dimensions.push_back(dimension.take());
    }
    inputs.expected = place.expect_fragment(workload.sink(), workload.rows);
    return inputs;
}

// Batches are as the engine reads kept rows best: so many at once, of so many rows.
FragmentRun::FragmentRun(Engine& engine, const FragmentCase& fragment_case, const FragmentInputs& inputs,
                         Place& place)
    : engine_(engine),
      case_(fragment_case),
      workload_(*fragment_case.workload),
      inputs_(inputs),
      place_(place),
      spec_(make_spec(workload_)),
      batch_rows_(workload_.rows),
      threads_(1) {
    for (uint16_t i = 0; i < workload_.dimensions.size(); i++)
        stages_.push_back(make_stage(i, workload_.rows));
    if (case_.transport != Transport::Resident) {
        const KeptMeasure measure = engine.kept_measure();
        batch_rows_ = std::max(measure.rows / kBufferAlignment * kBufferAlignment, kBufferAlignment);
        threads_ = static_cast<uint32_t>(std::min<uint64_t>(case_.threads, measure.readers));
    }
    for (uint32_t thread = 0; thread < threads_; thread++) sinks_.push_back(place_.allocate(kSinkBytes));
}

Outcome FragmentRun::run(bool take_checksum) {
    Outcome outcome;
    outcome.checked = take_checksum;
    cancel_ = false;
    Watchdog watchdog(&cancel_, case_.timeout);
    std::unique_ptr<Fragment> fragment;
    outcome.status = open(&fragment);
    if (outcome.status.ok()) outcome.status = run_source(*fragment, &outcome);
    return outcome;
}

Status FragmentRun::open(std::unique_ptr<Fragment>* fragment) {
    const FragmentView view{spec_.get(), stages_};
    GPUJOIN_RETURN_IF_FAILED(validate(view));
    GPUJOIN_RETURN_IF_FAILED(
        engine_.open_fragment(view, {&host_memory_, &device_memory_, &cancel_}, fragment));
    for (uint32_t i = 0; i < stages_.size(); i++) GPUJOIN_RETURN_IF_FAILED(build((*fragment)->join(i), i));
    return {};
}

Status FragmentRun::build(Join& join, uint32_t stage) const {
    const Columns& dimension = inputs_.dimensions[stage];
    const JoinSpec& spec = stages_[stage].join;
    Slice slice(dimension, {spec.build, spec.build_columns}, 0, dimension.rows, place_.memory());
    SealReport report;
    GPUJOIN_RETURN_IF_FAILED(join.append(slice.batch, 0));
    return join.seal(&report);
}

Status FragmentRun::run_source(Fragment& fragment, Outcome* outcome) const {
    std::vector<Check> checks(threads_);
    Stopwatch time;
    GPUJOIN_RETURN_IF_FAILED(run_batches(fragment, outcome->checked, &time, &checks));
    if (workload_.has_groups) {
        std::unique_ptr<Cursor> left;
        GPUJOIN_RETURN_IF_FAILED(fragment.flush(&left));
        GPUJOIN_RETURN_IF_FAILED(take_results(*left, 0, outcome->checked, 0, &checks.front()));
    }
    outcome->seconds = time.seconds();
    for (const Check& check : checks) outcome->check = outcome->check + check;
    return {};
}

// Starting threads takes some of the time that a device takes for all of the rows: it is not measured.
Status FragmentRun::run_batches(Fragment& fragment, bool take_checksum, Stopwatch* time,
                                std::vector<Check>* checks) const {
    const uint64_t rows = inputs_.source.rows;
    auto run_batch = [&](uint32_t thread, uint64_t batch) {
        const uint64_t first = batch * batch_rows_;
        Slice slice(inputs_.source, {spec_->source, spec_->source_columns}, first,
                    std::min(batch_rows_, rows - first), place_.memory());
        std::unique_ptr<Cursor> cursor;
        GPUJOIN_RETURN_IF_FAILED(fragment.run(slice.batch, &cursor));
        return take_results(*cursor, first, take_checksum, thread, &(*checks)[thread]);
    };
    return for_batches(threads_, (rows + batch_rows_ - 1) / batch_rows_, run_batch,
                       [&] { *time = Stopwatch(); });
}

// A group that comes in parts would have to be made whole by the client, which is not measured.
Status FragmentRun::take_results(Cursor& cursor, uint64_t first_row, bool take_checksum, uint32_t thread,
                                 Check* check) const {
    const Sink sink{sinks_[thread].get(), kSinkBytes, place_.memory()};
    return for_results(cursor, sink, [&](const ResultBatch& result) -> Status {
        if (workload_.has_groups && result.rows > 0 && !result.complete)
            return failure(Fault::Error, "53200", "groups come in parts, since memory is short");
        if (take_checksum)
            *check = *check + check_result(result, sink.memory, first_row);
        else
            check->rows += result.rows;
        return {};
    });
}

Check FragmentRun::check_result(const ResultBatch& result, const std::byte* memory,
                                uint64_t first_row) const {
    if (result.rows == 0) return {};
    SinkRow row;
    if (!workload_.has_groups) row.source_rows = memory + result.probe_rows;
    if (workload_.has_key) row.keys = memory + result.columns[0].values;
    row.first_source_row = first_row;
    row.outputs = static_cast<uint32_t>(workload_.outputs.size());
    for (uint32_t i = 0; i < row.outputs; i++) {
        row.column[i] = memory + result.columns[i + (workload_.has_key ? 1 : 0)].values;
        row.width[i] = width_of(workload_, workload_.outputs[i]);
    }
    return place_.check_fragment(row, result.rows);
}

}  // namespace gpujoin::bench
