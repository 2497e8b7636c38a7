// The server's log: lines "LEVEL: text" on standard error, which the supervisor relays to PostgreSQL's log.
#pragma once

namespace gpujoin {

// Ready is said once, when connections are accepted.
enum class LogLevel { Log, Warning, Fatal, Ready };

// Writes one line, atomically as far as a pipe allows. Never blocks: where the reader does not keep up, lines
// are lost; where it is gone, so is the supervisor, and the process leaves.
void log_line(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace gpujoin
