// ServerProcess: a gpujoin_server that this process has started. Two pipes tie it to its parent and to
// nothing else:
//
//   lifeline   standard input; nothing is ever written. Its only writer is the parent, so however the parent
//              ends, the server sees end-of-file and leaves.
//   log        standard error; lines "LEVEL: text" that the parent relays. So the server never holds
//              PostgreSQL's own log open, whose collector would wait for it.
//
// Besides, the kernel kills the server when its parent dies.
#pragma once

#include "pg/compat.h"
#include "pg/settings.h"

namespace gpujoin {

struct ServerProcess {
    pid_t pid;     // 0: none
    int lifeline;  // our ends; -1: closed
    int log;
    int line_length;
    char line[1024];  // what has arrived of the next log line
};

// Starts the server, which shall listen on `socket_name`. False with the reason in *why (a text for the log),
// if it cannot be.
bool start_server_process(ServerProcess* server, const ServerSettings& settings, const char* socket_name,
                          char* why, size_t why_size);

// The next whole line of the log, without waiting: null when there is none. Valid until the next call.
const char* read_log_line(ServerProcess* server);

// Has the process ended? If so it is reaped, and *wait_status is as of waitpid().
bool reap_server_process(ServerProcess* server, int* wait_status);

// Asks it to leave, by closing the lifeline.
void cut_lifeline(ServerProcess* server);

// Ends it at once.
void kill_server_process(ServerProcess* server);

// Closes what is left of our ends of the pipes.
void close_pipes(ServerProcess* server);

}  // namespace gpujoin
