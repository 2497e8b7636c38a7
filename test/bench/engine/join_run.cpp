// Running one join through the engine contract.
#include "join_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace gpujoin::bench {

namespace {

constexpr uint64_t kStreamedSinkBytes = 16u << 20;
constexpr uint64_t kMaxSinkBytes = uint64_t{4} << 30;

class Stopwatch {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

ColumnSpec key_column(Format format) {
    if (format == Format::Text) return {ColumnType::Bytes, ValueOrder::Bytes, 0, 0};
    return {width_of(format) == 4 ? ColumnType::Fixed4 : ColumnType::Fixed8,
            is_float(format) ? ValueOrder::Float : ValueOrder::Signed, 0, 0};
}

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

// Adds columns to a relation in a place.
class ColumnMaker {
  public:
    ColumnMaker(Place& place, const Relation& relation) : place_(place), relation_(relation) {
        columns_.rows = relation.rows;
    }

    void add_keys(Format format, uint64_t offset) {
        if (format == Format::Text) return add_texts();
        std::byte* values = allocate(relation_.rows * width_of(format));
        place_.fill_keys({relation_.keys, format, offset, values}, relation_.rows);
        columns_.views.push_back({nullptr, values});
    }

    void add_row_numbers(uint32_t width) {
        std::byte* values = allocate(relation_.rows * width);
        place_.fill_row_numbers({width, values}, relation_.rows);
        columns_.views.push_back({nullptr, values});
    }

    Columns take() { return std::move(columns_); }

  private:
    void add_texts() {
        uint64_t bytes = relation_.rows * kTextBytes;
        auto offsets = reinterpret_cast<uint32_t*>(allocate((relation_.rows + 1) * sizeof(uint32_t)));
        std::byte* data = allocate(bytes);
        place_.fill_texts({relation_.keys, offsets, data}, relation_.rows);
        columns_.views.push_back({nullptr, nullptr, offsets, data, bytes});
    }

    std::byte* allocate(uint64_t bytes) {
        columns_.buffers.push_back(place_.allocate(bytes));
        return columns_.buffers.back().get();
    }

    Place& place_;
    const Relation& relation_;
    Columns columns_;
};

Columns make_columns(const Workload& workload, const Relation& relation, bool with_high_key, bool with_ids,
                     Place& place) {
    ColumnMaker maker(place, relation);
    maker.add_keys(workload.format, 0);
    if (with_high_key) maker.add_keys(workload.format, workload.band);
    if (with_ids) maker.add_row_numbers(workload.id_width);
    return maker.take();
}

// Rows [first, first + rows) of the first specs.size() columns. Offsets of texts, which are all of one
// length, serve any rows of a relation.
struct Slice {
    std::vector<ColumnView> views;
    BatchView batch;

    Slice(const Columns& columns, std::span<const ColumnSpec> specs, uint64_t first, uint64_t rows,
          Memory memory) {
        for (size_t i = 0; i < specs.size(); i++) {
            views.push_back(columns.views[i]);
            if (specs[i].type == ColumnType::Bytes) {
                views[i].data += first * kTextBytes;
                views[i].data_bytes = rows * kTextBytes;
            } else {
                views[i].values += first * fixed_width(specs[i].type);
            }
        }
        batch = {rows, views, memory, 0, true};
    }
    Slice(const Slice&) = delete;
};

// Calls task(thread, batch number) for every batch from `threads` threads; stops at the first failure.
template <typename Task>
Status for_batches(uint32_t threads, uint64_t batches, const Task& task) {
    if (threads == 1) {
        for (uint64_t batch = 0; batch < batches; batch++) GPUJOIN_RETURN_IF_FAILED(task(0, batch));
        return {};
    }
    std::atomic<uint64_t> next{0};
    std::mutex mutex;
    Status first_failure;
    auto work = [&](uint32_t thread) {
        for (uint64_t batch; (batch = next.fetch_add(1)) < batches;) {
            Status status = task(thread, batch);
            if (status.ok()) continue;
            std::lock_guard lock(mutex);
            first_failure = status;
            next = batches;
        }
    };
    std::vector<std::thread> workers;
    for (uint32_t thread = 0; thread < threads; thread++) workers.emplace_back(work, thread);
    for (std::thread& worker : workers) worker.join();
    return first_failure;
}

// Sets a flag when it has lived too long.
class Watchdog {
  public:
    Watchdog(std::atomic<bool>* flag, double seconds)
        : thread_([=, this](std::stop_token stop) {
              std::unique_lock lock(mutex_);
              auto is_stopped = [&] { return stop.stop_requested(); };
              wake_.wait_for(lock, stop, std::chrono::duration<double>(seconds), is_stopped);
              if (!is_stopped()) *flag = true;
          }) {}

  private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;
};

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
    for (ResultBatch result; !result.done;) {
        result = {};
        GPUJOIN_RETURN_IF_FAILED(cursor->next(sink, &result));
        if (result.bytes_needed > sink.bytes)
            return failure(Fault::Error, "XX000", "a sink of %llu bytes is too small",
                           static_cast<unsigned long long>(sink.bytes));
        Stopwatch check_time;
        if (take_checksum)
            *check = *check + check_result(result, sink.memory, first_row);
        else
            check->rows += result.rows;
        *excluded += check_time.seconds();
    }
    return {};
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
