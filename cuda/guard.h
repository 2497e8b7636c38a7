// The engine contract lets no exception out: what the standard library throws becomes a Status.
#pragma once

#include <exception>
#include <new>

#include "wire/status.h"

namespace gpujoin {

// Runs an entry of the engine, a function that returns a Status.
template <typename Entry>
Status guarded(const Entry& entry) noexcept {
    try {
        return entry();
    } catch (const std::bad_alloc&) {
        return failure(Fault::HostMemory, "53200", "out of memory");
    } catch (const std::exception& error) {
        return failure(Fault::Error, "XX000", "internal error of the CUDA engine: %s", error.what());
    }
}

}  // namespace gpujoin
