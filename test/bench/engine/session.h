// Session: what all cases of a run of the benchmark share: options, places, engines, the report, and the
// relations that were last used in each place.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "device.h"
#include "join_run.h"
#include "report.h"

namespace gpujoin::bench {

struct Options {
    double scale = 1;
    double cpu_scale = 0;  // 0: scale, or an eighth of it beside a GPU, where it would take most of the time
    std::string device = "auto";
    std::string filter;
    uint32_t threads = std::thread::hardware_concurrency();
    int iterations = 3;
    double timeout = 20;  // seconds after which a run of a join is cancelled, and its case failed
};

class Session {
  public:
    explicit Session(const Options& options);

    // The relations of a workload in a place, kept until another workload's are asked for. Lets go of those
    // in all other places.
    const Inputs& inputs(const Workload& workload, Place& place);
    // Lets go of all of them.
    void forget_inputs() { kept_ = {}; }

    const Options& options;
    std::unique_ptr<Place> host;
    const double host_bandwidth = host_copy_bandwidth();
    std::unique_ptr<Engine> cpu_engine;
    std::unique_ptr<Device> device;  // null: none
    Report report;

  private:
    struct Kept {
        const Workload* workload = nullptr;
        const Place* place = nullptr;
        Inputs inputs;
    };
    Kept kept_;
};

// What the runs of a case must give, and what they gave.
struct Measured {
    double seconds = 0;  // mean of the measured runs
    Algorithm algorithm = Algorithm::Auto;
    std::string failure;  // empty: every run gave the right rows
};

// A case is not run again once its runs have taken so many seconds; the last one then stands for the others.
inline constexpr double kEnoughSeconds = 3;

// Measures repeated calls of run(take_checksum). One that only warms up comes first where `warm_up` says so.
template <typename Run>
Measured measure(benchmark::State& state, const Check& expected, bool warm_up, const Run& run);

// Announces a case and registers its benchmark, body(state), with errors turned into failures of the case.
template <typename Body>
void add_case(Session& session, const Label& label, const Body& body);

// How a run failed; empty if it gave what was expected.
std::string failure_of(const Outcome& outcome, const Check& expected);

template <typename Run>
Measured measure(benchmark::State& state, const Check& expected, bool warm_up, const Run& run) {
    Measured measured;
    Outcome outcome;
    double spent = 0;
    auto run_once = [&](bool take_checksum) {
        outcome = run(take_checksum);
        measured.failure = failure_of(outcome, expected);
        spent += outcome.seconds;
    };
    if (warm_up) run_once(true);
    for (auto _ : state) {
        if (!measured.failure.empty()) break;
        if (spent < kEnoughSeconds) run_once(false);
        measured.algorithm = outcome.seal.algorithm;
        measured.seconds += outcome.seconds / static_cast<double>(state.max_iterations);
        state.SetIterationTime(outcome.seconds);
    }
    if (!measured.failure.empty()) state.SkipWithError(measured.failure.c_str());
    return measured;
}

template <typename Body>
void add_case(Session& session, const Label& label, const Body& body) {
    session.report.announce(label);
    auto guarded_body = [body](benchmark::State& state) {
        try {
            body(state);
        } catch (const std::exception& exception) {
            state.SkipWithError(exception.what());
        }
    };
    benchmark::RegisterBenchmark(label.name().c_str(), guarded_body)
        ->UseManualTime()
        ->Iterations(session.options.iterations)
        ->Unit(benchmark::kMillisecond);
}

}  // namespace gpujoin::bench
