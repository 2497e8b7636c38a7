// Formatting of Status texts.
#include "wire/status.h"

#include <cstdio>
#include <cstring>

namespace gpujoin {

Status& Status::with_detail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return *this;
}

Status& Status::with_hint(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(hint, sizeof hint, format, arguments);
    va_end(arguments);
    return *this;
}

Status failure(Fault fault, const char* sqlstate, const char* format, ...) {
    Status status;
    status.fault = fault;
    snprintf(status.sqlstate, sizeof status.sqlstate, "%s", sqlstate);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(status.message, sizeof status.message, format, arguments);
    va_end(arguments);
    return status;
}

Status malformed(const char* what) {
    return failure(Fault::Protocol, "08P01", "malformed %s", what);
}

Status malformed(const char* what, const char* part, uint64_t value) {
    return malformed(what).with_detail("%s is %llu.", part, static_cast<unsigned long long>(value));
}

}  // namespace gpujoin
