// Registering and running joins.
#include "join_cases.h"

#include "limits.h"

namespace gpujoin::bench {

namespace {

void set_counters(benchmark::State& state, const JoinCase& join_case, uint64_t result_rows,
                  const Measured& measured, double limit_seconds) {
    if (!measured.failure.empty()) return;
    const Workload& workload = *join_case.workload;
    double probe_rows = static_cast<double>(workload.probe.rows) * workload.repeats;
    double build_rows = join_case.is_build_given() ? 0 : static_cast<double>(workload.build.rows);
    double bytes = static_cast<double>(input_bytes(join_case)) +
                   static_cast<double>(result_bytes(join_case, result_rows));
    bool by_pairs = join_case.algorithm == Algorithm::NestedLoop;
    double work = by_pairs ? probe_rows * build_rows : probe_rows + build_rows;
    state.counters[kInputRows] = probe_rows + build_rows;
    state.counters[kOutputRows] = static_cast<double>(result_rows);
    state.counters[kWork] = work / measured.seconds;
    state.counters[kBytes] = bytes / measured.seconds;
    state.counters[kAlgorithm] = static_cast<double>(measured.algorithm);
    state.counters[kLimit] = limit_seconds / measured.seconds;
}

void set_device_counters(benchmark::State& state, const JoinCase& join_case, uint64_t result_rows,
                         const Measured& measured, const Bandwidths& bandwidths) {
    set_counters(state, join_case, result_rows, measured, device_limit(join_case, result_rows, bandwidths));
    if (!measured.failure.empty() || !join_case.workload->writes_most) return;
    if (join_case.transport != Transport::Resident) return;
    double bytes = static_cast<double>(result_bytes(join_case, result_rows));
    state.counters[kWrites] = bytes / measured.seconds / bandwidths.writes;
}

void run_on_cpu(benchmark::State& state, Session& session, const JoinCase& join_case) {
    const Inputs& inputs = session.inputs(*join_case.workload, *session.host);
    JoinRun run(*session.cpu_engine, join_case, inputs, *session.host, *session.host);
    Measured measured = measure(state, inputs.expected, join_case.is_streamed(),
                                [&](bool take_checksum) { return run.run(take_checksum); });
    set_counters(state, join_case, inputs.expected.rows, measured,
                 cpu_limit(join_case, inputs.expected.rows, session.host_bandwidth));
}

void run_on_device(benchmark::State& state, Session& session, const JoinCase& join_case) {
    Device& device = *session.device;
    bool is_resident = join_case.transport == Transport::Resident;
    bool is_kept = is_resident || join_case.transport == Transport::StreamKept;
    Place& from = is_resident ? device.memory() : device.pinned_memory();
    Place& to = is_kept ? device.memory() : device.pinned_memory();
    const Inputs& inputs = session.inputs(*join_case.workload, from);
    JoinRun run(device.engine(), join_case, inputs, from, to);
    Measured measured =
        measure(state, inputs.expected, true, [&](bool take_checksum) { return run.run(take_checksum); });
    set_device_counters(state, join_case, inputs.expected.rows, measured, device.bandwidths());
}

void run_legacy(benchmark::State& state, Session& session, const JoinCase& join_case) {
    Device& device = *session.device;
    const Inputs& inputs = session.inputs(*join_case.workload, device.memory());
    Measured measured = measure(state, inputs.expected, true, [&](bool) {
        return device.run_legacy(*join_case.workload, join_case.algorithm, inputs);
    });
    set_device_counters(state, join_case, inputs.expected.rows, measured, device.bandwidths());
}

using Runner = void (*)(benchmark::State&, Session&, const JoinCase&);

void add_join(Session& session, const JoinCase& join_case, const char* engine, Runner runner) {
    const Workload& workload = *join_case.workload;
    Label label{workload.id,
                workload.variant,
                name_of(join_case.algorithm),
                engine,
                name_of(join_case.transport),
                join_case.order == ResultOrder::Any ? "unordered" : ""};
    add_case(session, label, [&session, join_case, runner](benchmark::State& state) {
        JoinCase timed_case = join_case;
        timed_case.timeout = session.options.timeout;
        runner(state, session, timed_case);
    });
}

// A case, and the same with results in any order where the workload asks for that and the engine has it.
void add_orders(Session& session, JoinCase join_case, const char* engine, Runner runner) {
    add_join(session, join_case, engine, runner);
    bool on_device = runner == run_on_device;
    bool has_it =
        join_case.algorithm == Algorithm::Hash || (join_case.algorithm == Algorithm::SortMerge && on_device);
    if (!join_case.workload->unordered || join_case.is_streamed() || !has_it) return;
    join_case.order = ResultOrder::Any;
    add_join(session, join_case, engine, runner);
}

void add_device_joins(Session& session, const Workload& workload) {
    constexpr uint32_t kStreams = 8;
    for (Transport transport : workload.transports) {
        for (Algorithm algorithm : workload.algorithms) {
            JoinCase join_case{&workload, algorithm, ResultOrder::Ascending, transport};
            if (join_case.is_streamed()) join_case.threads = kStreams;
            if (transport != Transport::Resident) {
                add_join(session, join_case, "cuda", run_on_device);
                continue;
            }
            add_orders(session, join_case, "cuda", run_on_device);
            if (session.device->has_legacy(workload, algorithm))
                add_join(session, join_case, "legacy", run_legacy);
        }
    }
}

// The CPU engine's memory is the host's: resident and whole are the same thing, and so are both streams.
// Other than whole, inputs come from as many threads as there are processors.
void add_cpu_joins(Session& session, const Workload& workload, const Workload& workload_for_pairs) {
    for (Transport transport : workload.transports) {
        if (transport == Transport::Whole || transport == Transport::StreamReturned) continue;
        for (Algorithm algorithm : workload.algorithms) {
            JoinCase join_case{&workload, algorithm};
            if (algorithm == Algorithm::NestedLoop) join_case.workload = &workload_for_pairs;
            if (transport != Transport::Resident) {
                join_case.transport = transport;
                join_case.threads = session.options.threads;
            }
            add_orders(session, join_case, "cpu", run_on_cpu);
        }
    }
}

}  // namespace

void add_join_cases(Session& session, const WorkloadSizes& workloads) {
    for (size_t i = 0; i < workloads.cpu.size(); i++) {
        if (session.device) add_device_joins(session, workloads.device[i]);
        add_cpu_joins(session, workloads.cpu[i], workloads.cpu_pairs[i]);
    }
}

}  // namespace gpujoin::bench
