// The server's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/status.h"

namespace gpujoin {

struct Options {
    enum class Action { Serve, Check, ListDevices, Version, Help };
    enum class DeviceChoice { Auto, Cpu, Listed };

    Action action = Action::Serve;
    std::string socket;                    // relative to the working directory
    uint64_t staging_memory = 256u << 20;  // bytes
    uint64_t host_memory = 0;              // bytes; 0: default_host_memory()
    std::optional<uint64_t> keep_memory;   // bytes; none: default_keep_memory()
    uint64_t shared_buffers = 0;           // bytes of PostgreSQL's, for these defaults
    uint64_t device_memory = 0;            // bytes; 0: four fifths of what is free
    DeviceChoice device_choice = DeviceChoice::Auto;
    std::vector<int> devices;  // CUDA device numbers, for Listed
    uint32_t cpu_engines = 1;  // for Cpu: several stand in for as many GPUs
    uint32_t cpu_threads = 0;  // 0: all
};

// Reads the command line. A bad option comes back as a failure whose message says which and why.
Status parse_options(int argc, char* const* argv, Options* options);

// The text of --help.
const char* usage();

}  // namespace gpujoin
