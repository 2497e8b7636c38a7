// The engine benchmark: joins and fragments from array to array, without a database, through the engine
// contract.
//
//   engine_bench [--scale=1] [--cpu_scale=...] [--device=auto|cpu|NUMBER] [--filter=REGEX] [--threads=N]
//                [--iterations=N] [--timeout=SECONDS] [--results=FILE] [--benchmark_...]
//
// Prints a markdown table on standard output and progress on standard error, and keeps the table in FILE.
// Fails if any case failed or gave a wrong result.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fragment_cases.h"
#include "join_cases.h"
#include "primitive_cases.h"
#include "session.h"

namespace gpujoin::bench {

namespace {

// Takes --name=value, or --name value, out of the arguments.
class Arguments {
  public:
    Arguments(int argc, char** argv) : arguments_(argv, argv + argc) {}

    const char* take(const char* name) {
        size_t length = strlen(name);
        for (size_t i = 1; i < arguments_.size(); i++) {
            if (strncmp(arguments_[i], name, length) != 0) continue;
            const char* rest = arguments_[i] + length;
            if (*rest == '=') return erase(i, 1), rest + 1;
            if (*rest != '\0' || i + 1 == arguments_.size()) continue;
            const char* value = arguments_[i + 1];
            return erase(i, 2), value;
        }
        return nullptr;
    }
    std::vector<char*>& rest() { return arguments_; }

  private:
    void erase(size_t first, size_t count) {
        arguments_.erase(arguments_.begin() + first, arguments_.begin() + first + count);
    }
    std::vector<char*> arguments_;
};

Options parse(Arguments& arguments) {
    Options options;
    if (const char* value = arguments.take("--scale")) options.scale = atof(value);
    if (const char* value = arguments.take("--cpu_scale")) options.cpu_scale = atof(value);
    if (const char* value = arguments.take("--device")) options.device = value;
    if (const char* value = arguments.take("--filter")) options.filter = value;
    if (const char* value = arguments.take("--threads")) options.threads = std::max(1, atoi(value));
    if (const char* value = arguments.take("--iterations")) options.iterations = std::max(1, atoi(value));
    if (const char* value = arguments.take("--timeout")) options.timeout = atof(value);
    return options;
}

std::string describe_machine(const Session& session) {
    char text[512];
    int length = snprintf(text, sizeof text, "CPU: %s, %u threads, copies %.1f GB/s",
                          session.cpu_engine->describe().name.c_str(), session.options.threads,
                          session.host_bandwidth / 1e9);
    if (session.device) {
        Bandwidths bandwidths = session.device->bandwidths();
        snprintf(text + length, sizeof text - length,
                 ", GPU: %s, device copies %.2f TB/s, writes %.2f TB/s, transfers %.1f GB/s one way and %.1f "
                 "GB/s both ways",
                 session.device->name().c_str(), bandwidths.memory / 1e12, bandwidths.writes / 1e12,
                 bandwidths.to_device / 1e9, bandwidths.both_ways / 1e9);
    }
    return text;
}

// How to run it again.
std::string command_line(int argc, char** argv) {
    std::string command = "test/bench/engine/run";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--results") == 0)
            i++;
        else if (strncmp(argv[i], "--results=", strlen("--results=")) != 0)
            command += strpbrk(argv[i], "()|*?[]^$ ") ? std::string(" '") + argv[i] + "'"
                                                      : std::string(" ") + argv[i];
    }
    return command;
}

int run(int argc, char** argv) {
    Arguments arguments(argc, argv);
    const Options options = parse(arguments);
    const char* results = arguments.take("--results");
    int rest = static_cast<int>(arguments.rest().size());
    benchmark::Initialize(&rest, arguments.rest().data());
    if (benchmark::ReportUnrecognizedArguments(rest, arguments.rest().data())) return 2;

    Session session(options);
    double cpu_scale = options.cpu_scale;
    if (cpu_scale <= 0) cpu_scale = session.device ? options.scale / 8 : options.scale;
    constexpr double kFewerRows = 0.125, kPrimitiveRows = 16 << 20;
    const WorkloadSizes workloads{make_workloads(options.scale), make_workloads(cpu_scale),
                                  make_workloads(cpu_scale * kFewerRows)};
    const FragmentSizes fragments{make_fragment_workloads(options.scale), make_fragment_workloads(cpu_scale)};
    add_join_cases(session, workloads);
    add_fragment_cases(session, fragments);
    add_primitive_cases(session, static_cast<uint64_t>(kPrimitiveRows * options.scale),
                        static_cast<uint64_t>(kPrimitiveRows * cpu_scale));
    const std::string machine = describe_machine(session);
    printf("scale %g (CPU engine %g), %s\n\n", options.scale, cpu_scale, machine.c_str());
    fflush(stdout);
    if (results) session.report.keep_in(results, machine, command_line(argc, argv));
    benchmark::RunSpecifiedBenchmarks(&session.report, options.filter.empty() ? "." : options.filter);
    return session.report.has_failures() ? 1 : 0;
}

}  // namespace

}  // namespace gpujoin::bench

int main(int argc, char** argv) {
    return gpujoin::bench::run(argc, argv);
}
