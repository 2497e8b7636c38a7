// How much memory the machine, or the container that PostgreSQL runs in, has for this process.
#pragma once

#include <cstdint>
#include <string>

namespace gpujoin {

inline constexpr uint64_t kNoLimit = UINT64_MAX;  // bytes

// The least of the machine's memory and the limits of the control groups (version 1 and 2) that this process
// is in, up to the root of their hierarchy. root: where /proc and /sys are found, for tests.
uint64_t memory_limit(const std::string& root = "");

// Half of what is left of that beside PostgreSQL's shared buffers.
uint64_t default_host_memory(uint64_t shared_buffers, const std::string& root = "");

// What kept columns may take: an eighth of the same.
uint64_t default_keep_memory(uint64_t shared_buffers, const std::string& root = "");

// For minimum working sets, all together, beside host memory that others have used up: enough for some dozens
// of joins however little that is.
uint64_t reserve_beside(uint64_t host_memory);

// What stays with the server when joins are over, beside host memory, for those to come.
uint64_t spare_beside(uint64_t host_memory);

}  // namespace gpujoin
