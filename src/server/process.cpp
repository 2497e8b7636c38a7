// Detaching from, and watching, the parent process.
#include "server/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

namespace gpujoin {

namespace {

// Of freed memory, by the C library in each of its arenas: the buffers of batches.
constexpr int kLargestKept = 8 << 20;
constexpr int kMostKept = 4 << 20;

constexpr int kOomScore = 900;  // of at most 1000
constexpr const char* kOomScoreText = "900";

char socket_to_unlink[108];

sigset_t termination_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

// Where memory runs out, this process goes first: without it joins fail, without a backend the cluster
// restarts. One that was given a higher score keeps it.
void raise_oom_score() {
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    char text[16] = {};
    [[maybe_unused]] ssize_t bytes = read(fd, text, sizeof text - 1);
    if (atoi(text) < kOomScore) bytes = pwrite(fd, kOomScoreText, strlen(kOomScoreText), 0);
    close(fd);
}

// Every join holds a connection.
void raise_descriptor_limit() {
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void reset_signals() {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);  // a peer that is gone shows in errno
    signal(SIGHUP, SIG_IGN);
    sigset_t blocked = termination_signals();
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

// Has the pipe's only writer gone?
bool has_ended(int fd) {
    char ignored[64];
    ssize_t bytes = read(fd, ignored, sizeof ignored);
    return bytes == 0 || (bytes < 0 && errno != EINTR && errno != EAGAIN);
}

void watch(const std::function<void()>& on_terminate) {
    sigset_t set = termination_signals();
    int signals = signalfd(-1, &set, SFD_CLOEXEC);
    pollfd watched[2] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    bool terminating = false;
    for (;;) {
        int ready = poll(watched, terminating ? 1 : 2, terminating ? 5000 : -1);
        if (ready == 0) leave_at_once(1);
        if (ready < 0) continue;
        if (watched[0].revents != 0 && has_ended(STDIN_FILENO)) leave_at_once(0);
        if (!terminating && watched[1].revents != 0) {
            terminating = true;
            try {
                on_terminate();
            } catch (const std::exception&) {
                leave_at_once(0);
            }
        }
    }
}

}  // namespace

void prepare_environment() {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
    mallopt(M_ARENA_MAX, static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)));
    mallopt(M_MMAP_THRESHOLD, kLargestKept);
    mallopt(M_TRIM_THRESHOLD, kMostKept);
}

void detach_from_parent() {
    setsid();
    close_range(3, ~0u, 0);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        close(null);
    }
    fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
    reset_signals();
    raise_oom_score();
    raise_descriptor_limit();
    umask(077);
}

void watch_parent(std::function<void()> on_terminate) {
    std::thread([on_terminate = std::move(on_terminate)] { watch(on_terminate); }).detach();
}

void set_socket_to_unlink(const std::string& name) {
    name.copy(socket_to_unlink, sizeof socket_to_unlink - 1);
}

void leave_at_once(int code) {
    if (socket_to_unlink[0] != '\0') unlink(socket_to_unlink);
    _exit(code);
}

}  // namespace gpujoin
