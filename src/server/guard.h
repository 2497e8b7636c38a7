// What becomes of exceptions, of which the standard library throws std::bad_alloc: a Status, at the top of
// whatever a thread does for a client.
#pragma once

#include <exception>
#include <new>

#include "wire/status.h"

namespace gpujoin {

// What a client is told when the machine has no memory left.
inline Status out_of_machine_memory() {
    return failure(Fault::HostMemory, "53200", "out of memory for joins")
        .with_detail("The system has no memory left for the gpujoin server.")
        .with_hint("Decrease gpujoin.host_memory, or set gpujoin.enabled to off for this query.");
}

template <typename Work>
Status without_exceptions(const Work& work) noexcept {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return out_of_machine_memory();
    } catch (const std::exception& exception) {
        return failure(Fault::Error, "XX000", "unexpected failure in the gpujoin server")
            .with_detail("The exception was: %s.", exception.what());
    }
}

}  // namespace gpujoin
