// Starting the server process. Everything it needs is prepared before the fork: between fork and exec only
// async-signal-safe functions are called, since this is a copy of a PostgreSQL process.
#include "pg/server_process.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "miscadmin.h"
}

namespace gpujoin {

namespace {

// All that the child needs, in memory that fork copies.
struct Launch {
    char path[MAXPGPATH];
    char failure[MAXPGPATH + 64];
    char staging_memory[32];
    char host_memory[32];
    char keep_memory[32];
    char shared_buffers[32];
    char device_memory[32];
    char cpu_threads[32];
    char device[4096];
    const char* arguments[18];
};

void print_memory(char (&text)[32], int megabytes) {
    snprintf(text, sizeof text, UINT64_FORMAT, static_cast<uint64>(megabytes) << 20);
}

// The setting in the form of the command line: small letters, no blanks.
void print_device(char* text, size_t size) {
    size_t length = 0;
    for (const char* c = setting_device; *c != '\0' && length + 1 < size; c++)
        if (*c != ' ' && *c != '\t')
            text[length++] = static_cast<char>(pg_tolower(static_cast<unsigned char>(*c)));
    text[length] = '\0';
}

void prepare(Launch* launch, const ServerSettings& settings, const char* socket_name) {
    strlcpy(launch->path, my_exec_path, sizeof launch->path);
    char* slash = strrchr(launch->path, '/');
    strlcpy(slash ? slash + 1 : launch->path, "gpujoin_server",
            sizeof launch->path - (slash ? slash + 1 - launch->path : 0));
    snprintf(launch->failure, sizeof launch->failure, "FATAL: could not execute \"%s\"\n", launch->path);
    print_memory(launch->staging_memory, settings.staging_memory);
    print_memory(launch->host_memory, settings.host_memory);
    if (settings.keep_memory < 0)
        strlcpy(launch->keep_memory, "auto", sizeof launch->keep_memory);
    else
        print_memory(launch->keep_memory, settings.keep_memory);
    print_memory(launch->device_memory, settings.device_memory);
    snprintf(launch->shared_buffers, sizeof launch->shared_buffers, UINT64_FORMAT,
             static_cast<uint64>(NBuffers) * BLCKSZ);
    snprintf(launch->cpu_threads, sizeof launch->cpu_threads, "%d", settings.cpu_threads);
    print_device(launch->device, sizeof launch->device);

    const char* arguments[] = {launch->path,
                               "--socket",
                               socket_name,
                               "--staging-memory",
                               launch->staging_memory,
                               "--host-memory",
                               launch->host_memory,
                               "--keep-memory",
                               launch->keep_memory,
                               "--shared-buffers",
                               launch->shared_buffers,
                               "--device-memory",
                               launch->device_memory,
                               "--device",
                               launch->device,
                               "--cpu-threads",
                               launch->cpu_threads,
                               nullptr};
    static_assert(sizeof arguments <= sizeof launch->arguments);
    memcpy(launch->arguments, arguments, sizeof arguments);
}

// The child: a process group of its own first, so that signals to the postmaster's children pass it by;
// nothing inherited but the two pipes.
[[noreturn]] void become_server(const Launch* launch, int lifeline, int log) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // for a server that is stopped or hangs, and cannot see its lifeline
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);

    int null = open("/dev/null", O_WRONLY);
    if (dup2(lifeline, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
        dup2(log, STDERR_FILENO) >= 0 && close_range(3, ~0u, 0) == 0)
        execv(launch->path, const_cast<char* const*>(launch->arguments));
    [[maybe_unused]] ssize_t written = write(log, launch->failure, strlen(launch->failure));
    _exit(127);
}

void close_pipe(int (&ends)[2]) {
    close(ends[0]);
    close(ends[1]);
}

// Two pipes that no other program will inherit.
bool make_pipes(int (&lifeline)[2], int (&log)[2]) {
    if (pipe2(lifeline, O_CLOEXEC) < 0) return false;
    if (pipe2(log, O_CLOEXEC) == 0) return true;
    int error = errno;
    close_pipe(lifeline);
    errno = error;
    return false;
}

// Forks with all signals blocked, so that no handler of ours runs in the child.
pid_t fork_server(const Launch* launch, int lifeline, int log) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) become_server(launch, lifeline, log);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return pid;
}

// Takes a whole line out of the buffer; a line longer than the buffer is cut.
const char* take_line(ServerProcess* server) {
    static char line[sizeof server->line];
    auto* end = static_cast<char*>(memchr(server->line, '\n', server->line_length));
    bool is_cut = !end && server->line_length == sizeof server->line - 1;
    if (!end && !is_cut) return nullptr;
    int length = end ? static_cast<int>(end - server->line) : server->line_length;
    memcpy(line, server->line, length);
    line[length] = '\0';
    int used = length + (end ? 1 : 0);
    server->line_length -= used;
    memmove(server->line, server->line + used, server->line_length);
    return line;
}

}  // namespace

bool start_server_process(ServerProcess* server, const ServerSettings& settings, const char* socket_name,
                          char* why, size_t why_size) {
    static Launch launch;
    prepare(&launch, settings, socket_name);
    *server = ServerProcess{};
    server->lifeline = server->log = -1;

    int lifeline[2], log[2];
    if (access(launch.path, X_OK) < 0 || !make_pipes(lifeline, log)) {
        snprintf(why, why_size, "could not execute \"%s\": %s", launch.path, strerror(errno));
        return false;
    }
    pid_t pid = fork_server(&launch, lifeline[0], log[1]);
    if (pid < 0) {
        snprintf(why, why_size, "could not fork: %s", strerror(errno));
        close_pipe(lifeline);
        close_pipe(log);
        return false;
    }
    close(lifeline[0]);
    close(log[1]);
    fcntl(log[0], F_SETFL, O_NONBLOCK);
    server->pid = pid;
    server->lifeline = lifeline[1];
    server->log = log[0];
    return true;
}

const char* read_log_line(ServerProcess* server) {
    for (;;) {
        if (const char* line = take_line(server)) return line;
        if (server->log < 0) return nullptr;
        ssize_t bytes = read(server->log, server->line + server->line_length,
                             sizeof server->line - 1 - server->line_length);
        if (bytes > 0) {
            server->line_length += static_cast<int>(bytes);
            continue;
        }
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0 && errno == EAGAIN) return nullptr;
        close(server->log);
        server->log = -1;
        if (server->line_length > 0) server->line[server->line_length++] = '\n';
    }
}

bool reap_server_process(ServerProcess* server, int* wait_status) {
    pid_t ended;
    do ended = waitpid(-1, wait_status, WNOHANG);  // one that was left behind may end, too
    while (ended > 0 && ended != server->pid);
    if (ended != server->pid) return false;
    server->pid = 0;
    return true;
}

void cut_lifeline(ServerProcess* server) {
    if (server->lifeline >= 0) close(server->lifeline);
    server->lifeline = -1;
}

void kill_server_process(ServerProcess* server) {
    if (server->pid > 0) kill(server->pid, SIGKILL);
}

void close_pipes(ServerProcess* server) {
    cut_lifeline(server);
    if (server->log >= 0) close(server->log);
    server->log = -1;
}

}  // namespace gpujoin
