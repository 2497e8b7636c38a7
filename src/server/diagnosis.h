// What gpujoin_server --check says of a machine: lines with what was found, and advice where that will hurt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/machine.h"
#include "wire/status.h"

namespace gpujoin {

struct Findings {
    MachineFacts machine;
    bool has_cuda_engine = false;  // in this build
    std::string cuda_runtime;      // its version
    std::string cuda_driver;       // the version that the driver is for; empty: there is none
    int driver_branch = 0;         // which drivers the runtime needs: from that one on

    std::vector<std::string> libraries;  // that are loaded
    std::vector<DeviceDescription> devices;
    uint32_t cpu_threads = 0;

    // Bytes that the server would take.
    uint64_t staging_memory = 0;
    uint64_t host_memory = 0;
    uint64_t keep_memory = 0;
    uint64_t shared_buffers = 0;  // PostgreSQL would

    Status made;    // the memory that it shares with PostgreSQL
    Status pinned;  // that memory, for GPUs
};

struct Line {
    std::string name;
    std::string text;
    std::vector<std::string> advice;
};

std::vector<Line> diagnose(const Findings& findings);

std::string where_joins_run(const Findings& findings);

// Why the server could not work; empty where it could, be it without a GPU.
std::string why_it_cannot_work(const Findings& findings);

}  // namespace gpujoin
