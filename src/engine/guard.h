// What leaves an engine is a Status: exceptions of the standard library become one, and so does a cancel.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "wire/status.h"

namespace gpujoin {

// Runs an entry of an engine, a function that returns a Status and may throw.
template <typename Entry>
Status guarded(Entry&& entry) noexcept {
    try {
        return std::forward<Entry>(entry)();
    } catch (const std::bad_alloc&) {
        return failure(Fault::HostMemory, "53200", "out of memory");
    } catch (const std::exception& error) {
        return failure(Fault::Error, "XX000", "unexpected failure in a join engine")
            .with_detail("The exception was: %s.", error.what());
    }
}

inline Status cancelled_status() {
    return failure(Fault::Cancelled, "57014", "join cancelled");
}

}  // namespace gpujoin
