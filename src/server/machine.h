// What the kernel says of the machine that the server runs on, as far as joins are quicker, slower or
// impossible for it: memory and its limits, processors, pages, and the NVIDIA driver. For gpujoin_server
// --check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/memory_limit.h"

namespace gpujoin {

struct MachineFacts {
    std::string kernel;

    uint64_t memory = 0;         // bytes
    uint64_t memory_limit = 0;   // the least of that and of the control groups'
    uint64_t locked_memory = 0;  // what a process may lock; kNoLimit
    uint64_t shared_memory = 0;  // size of /dev/shm; 0: it is not there
    uint64_t free_shared_memory = 0;
    int overcommit = 0;  // vm.overcommit_memory
    int overcommit_ratio = 0;
    uint64_t commit_limit = 0;  // which holds where overcommit is 2
    uint64_t committed = 0;

    std::string transparent_pages;         // always, madvise, never; empty: the kernel has none
    std::string shared_transparent_pages;  // of shared memory
    uint64_t huge_page_bytes = 0;
    uint64_t huge_pages = 0;  // that are reserved
    uint64_t free_huge_pages = 0;

    uint32_t processors = 0;          // that are online
    uint32_t allowed_processors = 0;  // that this process may run on
    double processor_quota = 0;       // processors' worth of time that control groups give; 0: no limit
    uint64_t open_files = 0;          // that the server may raise its limit to; kNoLimit

    std::string nvidia_driver;       // version of the kernel's module; empty: it is not loaded
    bool has_nvidia_device = false;  // on the PCI bus
};

// root: where /proc, /sys and /dev are found, for tests.
MachineFacts look_at_machine(const std::string& root = "");

// The files of the shared libraries that are loaded, whose names have their versions.
std::vector<std::string> loaded_libraries();

}  // namespace gpujoin
