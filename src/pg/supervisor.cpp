// The supervisor's policy: start a server, publish it when it says READY and is of our build, relay its log,
// and when it ends say so and start another: soon after one that had been running, ever later after ones that
// had not. A server that no longer answers (see Heartbeat) is killed and replaced, and left behind where it
// cannot be killed, because it is stuck in the kernel: its generation is over, so that whoever waits for it
// goes on. One whose settings were changed is replaced between joins (see Renewal). The supervisor never
// blocks, and the server never outlives it (see ServerProcess).
//
// The socket of every server has a name of its own, so that no client of an old one can reach a new one, and
// a dying one cannot unlink its successor's (see socket_place.h).
#include "pg/supervisor.h"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "pg/calibrate.h"
#include "pg/compat.h"
#include "pg/heartbeat.h"
#include "pg/kept_tables.h"
#include "pg/renewal.h"
#include "pg/report.h"
#include "pg/server_process.h"
#include "pg/shared_state.h"
#include "pg/socket_place.h"
#include "pg/statistics_file.h"
#include "pg/wait_events.h"

extern "C" {
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "portability/instr_time.h"
#include "storage/latch.h"

PGDLLEXPORT void gpujoin_supervisor_main(Datum argument);
}

namespace gpujoin {

namespace {

constexpr int kFirstDelayMs = 500;           // before the next server
constexpr int kLastDelayMs = 2000;           // the same after many that were ready for a short time only
constexpr int kLastHopelessDelayMs = 32000;  // and after many that were never ready
constexpr int kSettledMs = 10000;            // whoever ran so long starts the count afresh
constexpr int kFarewellMs = 3000;            // for a server to leave when asked
constexpr int kDeathMs = 30000;              // and to end when killed: much memory is to be given back

ServerProcess server;
ServerFacts facts;
Heartbeat heartbeat;
Renewal renewal;
char greeting[sizeof server.line];  // what the server said when it was listening

void on_child_exit(SIGNAL_ARGS) {
    (void)postgres_signal_arg;
    int error = errno;
    SetLatch(MyLatch);
    errno = error;
}

void publish(ServerPhase phase) {
    facts.phase = phase;
    facts.server_pid = server.pid;
    publish_server_facts(&facts);
}

// However this process comes to its regular end, the server does too.
void on_exit(int, Datum) {
    kill_server_process(&server);
    server.pid = 0;
    publish(ServerPhase::Down);
}

// Waits for the latch, and for the server: its first answers, later its log. Services what the latch may have
// been set for.
void wait_for_events(long timeout_ms) {
    int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT;
    int descriptor = heartbeat.is_known ? -1 : heartbeat.channel.socket;
    if (descriptor < 0) descriptor = server.log;
    if (descriptor >= 0) events |= WL_SOCKET_READABLE;
    int happened =
        WaitLatchOrSocket(MyLatch, events, descriptor, timeout_ms, wait_event(Wait::SupervisorMain));
    if (happened & WL_LATCH_SET) ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    if (ConfigReloadPending) {
        ConfigReloadPending = false;
        ProcessConfigFile(PGC_SIGHUP);
    }
}

instr_time now() {
    instr_time time;
    INSTR_TIME_SET_CURRENT(time);
    return time;
}

long ms_since(const instr_time& time) {
    instr_time elapsed = now();
    INSTR_TIME_SUBTRACT(elapsed, time);
    return static_cast<long>(INSTR_TIME_GET_MILLISEC(elapsed));
}

// What the server says of its devices and limits, for the planner.
void learn_devices(const DevicesBody& devices) {
    facts.host_memory = devices.host_bytes;
    facts.keep_memory = devices.keep_bytes;
    facts.staging_memory = devices.staging_bytes;
    for (uint32 i = 0; i < devices.count; i++) {
        const DeviceBody& device = devices.device[i];
        if (strcmp(device.engine, "cuda") != 0 || strcmp(device.state, "ready") != 0) continue;
        facts.device_memory =
            facts.has_gpu ? Min(facts.device_memory, device.join_memory) : device.join_memory;
        facts.has_gpu = true;
    }
}

// Acts on one line "LEVEL: text" of the server's log. Nothing it says may end this process.
void relay(const char* line) {
    char clean[sizeof server.line];
    copy_clean_text(clean, sizeof clean, line);
    if (strncmp(clean, "READY", 5) == 0) {
        strlcpy(greeting, clean + 5, sizeof greeting);
        if (facts.phase == ServerPhase::Starting) greet_server(&heartbeat, facts);
        return;
    }
    bool is_warning = strncmp(clean, "WARNING: ", 9) == 0;
    bool is_fatal = strncmp(clean, "FATAL: ", 7) == 0;
    const char* text = is_warning ? clean + 9 : is_fatal ? clean + 7 : clean;
    if (strncmp(text, "LOG: ", 5) == 0) text += 5;
    if (is_warning || is_fatal) strlcpy(facts.last_words, text, sizeof facts.last_words);
    ereport(is_warning ? WARNING : LOG,
            (errmsg_internal("gpujoin server (PID %d)%s: %s", server.pid, is_fatal ? " failed" : "", text)));
}

void relay_log() {
    while (const char* line = read_log_line(&server)) relay(line);
}

const char* describe_end(int wait_status) {
    static char text[128];
    if (WIFSIGNALED(wait_status))
        snprintf(text, sizeof text, "terminated by signal %d: %s", WTERMSIG(wait_status),
                 pg_strsignal(WTERMSIG(wait_status)));
    else
        snprintf(text, sizeof text, "exited with code %d", WEXITSTATUS(wait_status));
    return text;
}

// The last words of a server are what it complained of last, and how it ended.
void add_last_words(const char* end) {
    char complaint[sizeof facts.last_words];
    strlcpy(complaint, facts.last_words, sizeof complaint);
    if (complaint[0] == '\0')
        strlcpy(facts.last_words, end, sizeof facts.last_words);
    else
        snprintf(facts.last_words, sizeof facts.last_words, "%.160s (%s)", complaint, end);
}

// Starts the next server. False when it cannot be.
bool start_server() {
    uint64 generation = facts.generation + 1;
    facts = {};
    facts.generation = generation;
    forget_kept_shares({});
    name_socket(generation, facts.socket_name);
    bool is_started = start_server_process(&server, begin_with_settings(&renewal), facts.socket_name,
                                           facts.last_words, sizeof facts.last_words);
    publish(ServerPhase::Starting);
    if (!is_started) ereport(LOG, (errmsg_internal("gpujoin server: %s", facts.last_words)));
    return is_started;
}

// Relays the log until the server has ended. False when that takes longer; who shuts down does not wait long.
bool ends_within(long timeout_ms) {
    int wait_status;
    end_heartbeat(&heartbeat);
    instr_time begin = now();
    while (!reap_server_process(&server, &wait_status)) {
        if (ms_since(begin) >= (ShutdownRequestPending ? Min(timeout_ms, kFarewellMs) : timeout_ms))
            return false;
        relay_log();
        wait_for_events(100);
    }
    return true;
}

void kill_server() {
    kill_server_process(&server);
    if (ends_within(kDeathMs)) return;
    ereport(WARNING, (errmsg_internal("gpujoin server (PID %d) does not end when killed, and is left behind",
                                      server.pid)));
    server.pid = 0;
}

// Lets the server leave, which ends its joins, and ends it if it does not.
void dismiss_server() {
    publish(ServerPhase::Down);
    cut_lifeline(&server);
    if (!ends_within(kFarewellMs)) kill_server();
}

// Replaces a server that runs but is no use. Joins that wait for it see that its generation is over.
void condemn_server(const Status& why) {
    char message[160], detail[sizeof why.detail], hint[80];
    copy_clean_text(message, sizeof message, why.message);
    copy_clean_text(detail, sizeof detail, why.detail);
    copy_clean_text(hint, sizeof hint, why.hint);
    ereport(WARNING, (errmsg_internal("gpujoin server (PID %d) is no use: %s", server.pid, message),
                      detail[0] != '\0' ? errdetail_internal("%s", detail) : 0,
                      hint[0] != '\0' ? errhint("%s", hint) : 0));
    snprintf(facts.last_words, sizeof facts.last_words, hint[0] != '\0' ? "%s - %s" : "%s", message, hint);
    publish(ServerPhase::Down);
    kill_server();
}

// Acts on what the server has sent. False when it is no use.
bool listen_to_server() {
    static DevicesBody devices;
    Status why;
    for (;;) {
        switch (hear_server(&heartbeat, &devices, &why)) {
            case Heard::Nothing:
                return true;
            case Heard::Devices:
                learn_devices(devices);
                publish(ServerPhase::Ready);
                note_ready(&renewal);
                ereport(LOG, (errmsg_internal("gpujoin server (PID %d) is ready%s", server.pid, greeting)));
                break;
            case Heard::Measured:
                publish_measured(facts, devices);
                break;
            case Heard::Unmeasured:
                copy_clean_text(why.message, sizeof why.message, why.message);
                ereport(WARNING,
                        (errmsg_internal("gpujoin server did not measure its devices: %s", why.message)));
                break;
            case Heard::Refusal:
                condemn_server(why);
                return false;
        }
    }
}

// Says so once, of a server that is still there at the next tick. One that is about to end has removed its
// socket itself, and answers no more.
void tell_of_socket(bool is_lost, bool is_answering) {
    static uint64 last_told;
    static int lost_ticks;
    lost_ticks = is_lost ? lost_ticks + 1 : 0;
    if (lost_ticks < 2 || !is_answering || last_told == facts.generation) return;
    last_told = facts.generation;
    ereport(WARNING, (errmsg_internal("the socket of the gpujoin server (PID %d) is gone", server.pid),
                      errdetail_internal("Nothing is at \"%s\" any more.", facts.socket_name),
                      errhint("It is replaced when its joins have ended.")));
}

// Counts a tick when one is due. False when the server has been silent for too long.
bool keep_time() {
    bool leave_when_idle =
        facts.phase == ServerPhase::Ready && is_renewal_due(&renewal, server.pid, heartbeat.may_leave);
    if (ms_to_tick(&heartbeat) > 0) return true;
    // Nobody new can connect: it is replaced when its joins have ended.
    bool is_lost = facts.phase == ServerPhase::Ready && !keep_socket(facts.socket_name);
    tick(&heartbeat, facts, leave_when_idle || is_lost);
    bool is_answering = was_heard(&heartbeat);
    tell_of_socket(is_lost, is_answering);
    is_answering = is_answering && !is_lost;
    if (facts.phase == ServerPhase::Ready && (is_answering || is_lost || is_doubtful(&heartbeat)))
        publish_pulse(facts.generation, is_answering);
    if (!is_overdue(&heartbeat)) return true;
    condemn_server(
        failure(Fault::Error, "58000",
                heartbeat.is_listening ? "it has not answered for %ld ms" : "it was not ready after %ld ms",
                patience_ms(&heartbeat)));
    return false;
}

// A server has ended.
void note_end(pid_t pid, int wait_status) {
    if (renewal.is_announced && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
        ereport(LOG, (errmsg_internal("gpujoin server (PID %d) has left, to be replaced", pid)));
        strlcpy(facts.last_words, "it has left for one with other settings", sizeof facts.last_words);
        return;
    }
    const char* end = describe_end(wait_status);
    ereport(LOG, (errmsg_internal("gpujoin server (PID %d) ended: %s", pid, end)));
    add_last_words(end);
}

// Serves the running server until it has ended, is of no use, or we are to end.
void supervise() {
    int wait_status;
    pid_t pid = server.pid;
    for (;;) {
        relay_log();
        if (reap_server_process(&server, &wait_status)) break;
        if (ShutdownRequestPending) return dismiss_server();
        if (!listen_to_server() || !keep_time()) return;
        wait_for_events(ms_to_tick(&heartbeat));
    }
    relay_log();
    note_end(pid, wait_status);
}

// May the next server start at once? It has other settings than the last one.
bool is_next_to_differ() {
    if (heartbeat.is_known) return renewal.is_announced;
    return !ShutdownRequestPending && has_to_go_back(&renewal, facts.last_words);
}

void pause(long delay_ms) {
    instr_time begin = now();
    while (!ShutdownRequestPending && ms_since(begin) < delay_ms) wait_for_events(delay_ms - ms_since(begin));
}

void run() {
    int delay_ms = kFirstDelayMs;
    while (!ShutdownRequestPending) {
        instr_time begin = now();
        begin_heartbeat(&heartbeat);
        if (start_server()) supervise();
        int last_delay_ms = heartbeat.is_known ? kLastDelayMs : kLastHopelessDelayMs;
        end_heartbeat(&heartbeat);
        close_pipes(&server);
        unlink(facts.socket_name);
        bool is_other = is_next_to_differ();
        publish(is_other ? ServerPhase::Starting : ServerPhase::Down);
        delay_ms =
            is_other || ms_since(begin) >= kSettledMs ? kFirstDelayMs : Min(delay_ms * 2, last_delay_ms);
        if (!is_other) pause(delay_ms);
    }
}

}  // namespace

void register_supervisor() {
    BackgroundWorker worker = {};
    strlcpy(worker.bgw_name, "gpujoin supervisor", BGW_MAXLEN);
    strlcpy(worker.bgw_type, "gpujoin supervisor", BGW_MAXLEN);
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker.bgw_start_time = BgWorkerStart_ConsistentState;
    worker.bgw_restart_time = 1;
    strlcpy(worker.bgw_library_name, "gpujoin", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "gpujoin_supervisor_main", sizeof worker.bgw_function_name);
    RegisterBackgroundWorker(&worker);
}

}  // namespace gpujoin

void gpujoin_supervisor_main(Datum) {
    using namespace gpujoin;
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    pqsignal(SIGCHLD, on_child_exit);
    BackgroundWorkerUnblockSignals();

    read_server_facts(&facts);  // of a supervisor before us: its generation goes on
    if (facts.phase == ServerPhase::NotPreloaded) proc_exit(0);  // the shared memory is another build's
    before_shmem_exit(on_exit, 0);
    remove_stored_statistics();
    remove_stale_sockets();
    run();
    proc_exit(1);  // so that it is started again unless the cluster shuts down
}
