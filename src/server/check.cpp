// See check.h. It takes for a moment what the server would take at its start, beside one that runs.
#include "server/check.h"

#include <cstdio>
#include <memory>

#include "server/arena.h"
#include "server/devices.h"
#include "server/diagnosis.h"
#include "server/memory_limit.h"
#include "wire/build.h"
#if defined(GPUJOIN_CUDA) && __has_include("cuda/engine.h")
#include "cuda/engine.h"
#define GPUJOIN_HAS_CUDA_ENGINE
#endif

namespace gpujoin {

namespace {

#ifdef GPUJOIN_HAS_CUDA_ENGINE

void look_at_cuda(Findings* findings) {
    const CudaVersions versions = cuda_versions();
    findings->has_cuda_engine = true;
    findings->cuda_runtime = cuda_version_name(versions.runtime);
    findings->cuda_driver = versions.driver > 0 ? cuda_version_name(versions.driver) : "";
    findings->driver_branch = driver_branch_for(versions.runtime);
}

#else

void look_at_cuda(Findings*) {}

#endif

void look_at_needs(const Options& options, Findings* findings) {
    findings->staging_memory = options.staging_memory;
    findings->host_memory =
        options.host_memory > 0 ? options.host_memory : default_host_memory(options.shared_buffers);
    findings->keep_memory = options.keep_memory.value_or(default_keep_memory(options.shared_buffers));
    findings->shared_buffers = options.shared_buffers;
}

// What the server would hold; the memory is let go after the devices that have it pinned.
struct Trial {
    Trial(const Options& options, uint64_t memory)
        : host_memory(memory), reserve(reserve_beside(memory)), devices(open_devices(options)) {}

    Ledger host_memory;
    Ledger reserve;
    std::unique_ptr<Arena> arena;
    std::unique_ptr<Devices> devices;
};

// As Server::create() does.
void try_memory(Trial* trial, Findings* findings) {
    findings->made =
        Arena::create(findings->staging_memory, &trial->host_memory, &trial->reserve, &trial->arena);
    if (!findings->made.ok() || trial->devices->gpus() == 0) return;
    Arena& arena = *trial->arena;
    findings->pinned = arena.reserve_staging()
                           ? trial->devices->pin(arena.at(0), arena.staging_bytes())
                           : failure(Fault::HostMemory, "53200", "the machine has too little memory now");
}

Findings look_around(const Options& options) {
    Findings findings;
    findings.machine = look_at_machine();
    look_at_cuda(&findings);
    look_at_needs(options, &findings);
    Trial trial(options, findings.host_memory);
    findings.devices = trial.devices->list();
    findings.cpu_threads = trial.devices->cpu().description.processors;
    if (why_it_cannot_work(findings).empty()) try_memory(&trial, &findings);
    findings.libraries = loaded_libraries();
    return findings;
}

void print(const Line& line) {
    printf("%-15s %s\n", line.name.c_str(), line.text.c_str());
    for (const std::string& advice : line.advice) printf("%-15s -> %s\n", "", advice.c_str());
}

}  // namespace

int check(const Options& options) {
    const Findings findings = look_around(options);
    printf("%-15s " GPUJOIN_VERSION " (build %016llx)\n", "gpujoin_server",
           static_cast<unsigned long long>(kBuildId));
    for (const Line& line : diagnose(findings)) print(line);
    const std::string reason = why_it_cannot_work(findings);
    if (reason.empty())
        printf("\nThe server can work: joins run on %s.\n", where_joins_run(findings).c_str());
    else
        printf("\nThe server cannot work: %s.\n", reason.c_str());
    return reason.empty() ? 0 : 1;
}

}  // namespace gpujoin
