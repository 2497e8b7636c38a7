// Log lines to standard error.
#include "server/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "server/process.h"

namespace gpujoin {

void log_line(LogLevel level, const char* format, ...) {
    static constexpr const char* kNames[] = {"LOG", "WARNING", "FATAL", "READY"};
    char line[1024];
    int length = snprintf(line, sizeof line, "%s: ", kNames[static_cast<int>(level)]);
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line + length, sizeof line - static_cast<size_t>(length), format, arguments);
    va_end(arguments);
    length = std::min<int>(length + std::max(written, 0), sizeof line - 2);
    std::replace(line, line + length, '\n', ' ');
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0 && errno == EPIPE) leave_at_once(1);
}

}  // namespace gpujoin
