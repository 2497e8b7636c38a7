// Turns a failed Status into a PostgreSQL error: the one way in which failures of code that may not call
// PostgreSQL, and of the server, reach the user.
#pragma once

#include "wire/status.h"

#include "pg/compat.h"

namespace gpujoin {

// ereport(ERROR) with the status's SQLSTATE, message, detail and hint. After a loss of the server (58000) the
// plan cache is reset first, so that prepared statements are planned again without it.
[[noreturn]] void report_failure(const Status& status);

// Whether a failure says that no memory was left for a join, of a device or in gpujoin.host_memory.
inline bool is_short_of_memory(const Status& status) {
    return status.fault == Fault::DeviceMemory || status.fault == Fault::HostMemory;
}

// Copies a text that another process wrote, cut to `size` with its terminator; whatever is not printable
// ASCII becomes '?', so that it is valid in every server encoding.
void copy_clean_text(char* target, size_t size, const char* text);

}  // namespace gpujoin
