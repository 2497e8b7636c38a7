// gpujoin's part of shared memory: one writer (the supervisor) publishes the server's facts, every backend
// reads them. Only what a calibration found, and that the server did not open a join, may come from a backend
// as well. The facts are small, so that a spinlock is held for a copy only.
#include "pg/shared_state.h"

#include <initializer_list>

#include "pg/compat.h"
#include "pg/settings.h"
#include "pg/shared_memory.h"

extern "C" {
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

struct SharedState {
    uint64 build;              // of the library that has made it
    pg_atomic_uint64 latest;   // generation of the server that was started last
    pg_atomic_uint64 alive;    // the same if it is ready; 0: none is
    pg_atomic_uint64 answers;  // the same while it answers
    slock_t lock;              // of facts
    ServerFacts facts;
};

SharedState* shared = nullptr;

void initialise(SharedState* state) {
    for (pg_atomic_uint64* server : {&state->latest, &state->alive, &state->answers})
        pg_atomic_init_u64(server, 0);
    SpinLockInit(&state->lock);
    state->facts.phase = ServerPhase::Starting;
    state->facts.since = GetCurrentTimestamp();
}

void attach(void* memory, LWLock* /*lock*/, bool is_new) {
    shared = static_cast<SharedState*>(memory);
    if (is_new) initialise(shared);
}

constexpr SharedStruct kShared = {"gpujoin", sizeof(SharedState), nullptr, attach};

}  // namespace

void install_shared_state() {
    install_shared_struct(&kShared);
}

void publish_server_facts(const ServerFacts* facts) {
    TimestampTz now = GetCurrentTimestamp();
    SpinLockAcquire(&shared->lock);
    TimestampTz since = facts->phase == shared->facts.phase ? shared->facts.since : now;
    shared->facts = *facts;
    shared->facts.since = since;
    pg_atomic_write_u64(&shared->latest, facts->generation);
    pg_atomic_write_u64(&shared->alive, facts->phase == ServerPhase::Ready ? facts->generation : 0);
    SpinLockRelease(&shared->lock);
    publish_pulse(facts->generation, facts->phase == ServerPhase::Ready);
}

void publish_pulse(uint64 generation, bool answers) {
    uint64 server = answers ? generation : 0;
    if (pg_atomic_read_u64(&shared->answers) != server) pg_atomic_write_u64(&shared->answers, server);
}

void publish_rates(uint64 generation, const EngineRates* rates) {
    SpinLockAcquire(&shared->lock);
    if (shared->facts.generation == generation) shared->facts.rates = *rates;
    SpinLockRelease(&shared->lock);
}

void read_server_facts(ServerFacts* facts) {
    if (!shared) {
        *facts = {};
        return;
    }
    SpinLockAcquire(&shared->lock);
    *facts = shared->facts;
    SpinLockRelease(&shared->lock);
}

void read_planning_facts(PlanningFacts* facts) {
    SpinLockAcquire(&shared->lock);
    const ServerFacts& known = shared->facts;
    *facts = {known.host_memory, known.has_gpu ? known.device_memory : known.host_memory, known.rates};
    SpinLockRelease(&shared->lock);
    const uint64 most = static_cast<uint64>(setting_max_join_memory) << 20;
    if (most == 0) return;
    for (uint64* memory : {&facts->host_memory, &facts->engine_memory})
        if (*memory == 0 || most < *memory) *memory = most;
}

uint64 server_keep_memory() {
    if (!shared) return 0;
    SpinLockAcquire(&shared->lock);
    uint64 bytes = shared->facts.keep_memory;
    SpinLockRelease(&shared->lock);
    return bytes;
}

uint64 latest_server() {
    return shared ? pg_atomic_read_u64(&shared->latest) : 0;
}

bool server_is_ready() {
    return shared && pg_atomic_read_u64(&shared->answers) != 0;
}

bool server_is_alive(uint64 generation) {
    return shared && pg_atomic_read_u64(&shared->alive) == generation;
}

void doubt_server(uint64 generation) {
    if (shared) pg_atomic_compare_exchange_u64(&shared->answers, &generation, 0);
}

}  // namespace gpujoin
