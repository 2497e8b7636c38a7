// Status: how code that may not call PostgreSQL reports a failure. A plain struct of fixed size, so that it
// can travel in a message and be held in a frame that longjmp leaves. The PostgreSQL side turns it into an
// ereport; its texts follow PostgreSQL's message style (message: lower case, no full stop; detail and hint:
// whole sentences).
#pragma once

#include <cstdarg>
#include <cstdint>

namespace gpujoin {

// What a caller may have to do about a failure, beyond reporting it.
enum class Fault : uint8_t {
    None = 0,
    Error,         // report it; the join is over
    DeviceMemory,  // the device has no room: the join may move to the CPU engine
    HostMemory,    // gpujoin.host_memory is used up: 53200
    Cancelled,     // the cancel flag was seen: nobody is left to report to
    DeviceLost,    // the device context is poisoned: the server logs it and exits
    Protocol,      // the peer sent something malformed: the connection is closed
};

struct Status {
    Fault fault = Fault::None;
    char sqlstate[6] = "00000";
    char message[256] = "";
    char detail[512] = "";
    char hint[256] = "";

    bool ok() const { return fault == Fault::None; }

    // Adds a formatted detail or hint (cut where it is too long); returns *this so that calls chain.
    Status& with_detail(const char* format, ...) __attribute__((format(printf, 2, 3)));
    Status& with_hint(const char* format, ...) __attribute__((format(printf, 2, 3)));
};

// Makes a failed status. sqlstate has five characters ("58000", "53200", "08P01", "57014", "XX000").
Status failure(Fault fault, const char* sqlstate, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// What came from the other end is not as it should be: "malformed message". The detail may name the part of
// it that is wrong, and its value: "The number of stages is 17."
Status malformed(const char* what);
Status malformed(const char* what, const char* part, uint64_t value);

}  // namespace gpujoin

// Returns the failed Status of an expression from the calling function.
#define GPUJOIN_RETURN_IF_FAILED(expression)                                         \
    do {                                                                             \
        if (::gpujoin::Status status_ = (expression); !status_.ok()) return status_; \
    } while (0)
