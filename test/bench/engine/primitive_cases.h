// The primitives among the benchmark's cases (W5).
#pragma once

#include "session.h"

namespace gpujoin::bench {

// On the device, where there is one, with device_rows rows; on the host with host_rows.
void add_primitive_cases(Session& session, uint64_t device_rows, uint64_t host_rows);

}  // namespace gpujoin::bench
