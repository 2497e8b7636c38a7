// Registering and running fragments.
#include "fragment_cases.h"

#include "fragment_run.h"
#include "limits.h"

namespace gpujoin::bench {

namespace {

// The engine's memory is the place's.
void run_fragment(benchmark::State& state, Session& session, Engine& engine, Place& place,
                  const FragmentCase& fragment_case, double bandwidth) {
    session.forget_inputs();
    const FragmentWorkload& workload = *fragment_case.workload;
    const FragmentInputs inputs = make_inputs(workload, place);
    FragmentRun run(engine, fragment_case, inputs, place);
    Measured measured =
        measure(state, inputs.expected, true, [&](bool take_checksum) { return run.run(take_checksum); });
    if (!measured.failure.empty()) return;
    const double rows = static_cast<double>(workload.rows);
    const double bytes = fragment_bytes(workload, inputs.expected.rows);
    state.counters[kInputRows] = rows;
    state.counters[kOutputRows] = static_cast<double>(inputs.expected.rows);
    state.counters[kWork] = rows / measured.seconds;
    state.counters[kBytes] = bytes / measured.seconds;
    state.counters[kLimit] = bytes / bandwidth / measured.seconds;
}

template <typename Run>
void add(Session& session, FragmentCase fragment_case, const char* engine, const Run& run) {
    const FragmentWorkload& workload = *fragment_case.workload;
    Label label{workload.id, workload.variant, workload.name(), engine, name_of(fragment_case.transport), ""};
    fragment_case.timeout = session.options.timeout;
    add_case(session, label, [=](benchmark::State& state) { run(state, fragment_case); });
}

void add_on_device(Session& session, const FragmentWorkload& workload) {
    auto run = [&session](benchmark::State& state, const FragmentCase& fragment_case) {
        Device& device = *session.device;
        run_fragment(state, session, device.engine(), device.memory(), fragment_case,
                     device.bandwidths().memory);
    };
    constexpr uint32_t kAsTheEngineLikes = UINT32_MAX;
    add(session, {&workload, Transport::Resident}, "cuda", run);
    add(session, {&workload, Transport::ResidentBatches, kAsTheEngineLikes}, "cuda", run);
}

// Batches come from as many threads as there are processors.
void add_on_cpu(Session& session, const FragmentWorkload& workload) {
    add(session, {&workload, Transport::Batches, session.options.threads}, "cpu",
        [&session](benchmark::State& state, const FragmentCase& fragment_case) {
            run_fragment(state, session, *session.cpu_engine, *session.host, fragment_case,
                         session.host_bandwidth);
        });
}

}  // namespace

void add_fragment_cases(Session& session, const FragmentSizes& workloads) {
    for (size_t i = 0; i < workloads.cpu.size(); i++) {
        if (session.device) add_on_device(session, workloads.device[i]);
        add_on_cpu(session, workloads.cpu[i]);
    }
}

}  // namespace gpujoin::bench
