// See join_statistics.h. The lock is for who takes a place, gives it to others, or reads whose it is. A
// process keeps the place that it has found: nobody else takes it, as long as there is the database that the
// process is connected to.
#include "pg/join_statistics.h"

#include <type_traits>
#include <utility>

#include "pg/compat.h"
#include "pg/server_state.h"
#include "pg/shared_memory.h"
#include "pg/statistics_file.h"

extern "C" {
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr const char* kLockName = "gpujoin_join_statistics";

struct Place {
    Oid database;  // InvalidOid: it is free, or is that of no database
    TimestampTz since;
    TimestampTz reset;
    pg_atomic_uint64 figures[kFigures];
};

struct JoinStatistics {
    uint64 build;
    pg_atomic_uint64 generation;        // of the server when its restarts were reset; 0: they were not
    pg_atomic_uint64 earlier_restarts;  // before PostgreSQL was started, and not reset
    Place nowhere;
    Place places[kMostDatabases];
};

JoinStatistics* statistics = nullptr;
LWLock* lock = nullptr;

// Of this process.
Place* own = nullptr;
uint64 noted_spilled_bytes = 0;
uint64 noted_kept_chunks = 0;
uint64 noted_kept_blocks = 0;

void start(Place* place, Oid database) {
    place->database = database;
    place->since = GetCurrentTimestamp();
    place->reset = 0;
    for (pg_atomic_uint64& figure : place->figures) pg_atomic_write_u64(&figure, 0);
}

void initialise() {
    pg_atomic_init_u64(&statistics->generation, 0);
    pg_atomic_init_u64(&statistics->earlier_restarts, 0);
    auto init = [](Place* place) {
        for (pg_atomic_uint64& figure : place->figures) pg_atomic_init_u64(&figure, 0);
    };
    init(&statistics->nowhere);
    for (Place& place : statistics->places) init(&place);
    start(&statistics->nowhere, InvalidOid);
}

void copy(Place* place, DatabaseFigures* figures) {
    *figures = {place->database, place->since, place->reset, {}};
    for (int i = 0; i < kFigures; i++) figures->figures[i] = pg_atomic_read_u64(&place->figures[i]);
}

// In the order of the file: first that of no database.
int copy_all(DatabaseFigures* all) {
    int count = 0;
    copy(&statistics->nowhere, &all[count++]);
    for (Place& place : statistics->places)
        if (OidIsValid(place.database)) copy(&place, &all[count++]);
    return count;
}

template <typename Task>
auto locked(LWLockMode mode, const Task& task) {
    LWLockAcquire(lock, mode);
    if constexpr (std::is_void_v<decltype(task())>) {
        task();
        LWLockRelease(lock);
    } else {
        const auto result = task();
        LWLockRelease(lock);
        return result;
    }
}

Place* find_place(Oid database) {
    for (Place& place : statistics->places)
        if (place.database == database) return &place;
    return nullptr;
}

Place* take_place(Oid database) {
    Place* place = find_place(database);
    if (place) return place;
    place = find_place(InvalidOid);
    if (place) start(place, database);
    return place;
}

void add(Place* place, Figure figure, uint64 count) {
    if (count > 0)
        pg_atomic_fetch_add_u64(&place->figures[static_cast<int>(figure)], static_cast<int64>(count));
}

bool is_dropped(Oid database) {
    return OidIsValid(database) && !SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database));
}

// Nobody is connected to it who might count.
void leave_place(Oid database) {
    locked(LW_EXCLUSIVE, [database] {
        Place* place = find_place(database);
        if (!place) return;
        for (int i = 0; i < kFigures; i++)
            add(&statistics->nowhere, static_cast<Figure>(i), pg_atomic_read_u64(&place->figures[i]));
        place->database = InvalidOid;
    });
}

void forget_dropped_databases() {
    Oid databases[kMostDatabases];
    locked(LW_SHARED, [&databases] {
        for (int i = 0; i < kMostDatabases; i++) databases[i] = statistics->places[i].database;
    });
    for (Oid database : databases)
        if (is_dropped(database)) leave_place(database);
}

void reset(Place* place) {
    start(place, place->database);
    place->reset = place->since;
}

void reset_nowhere() {
    reset(&statistics->nowhere);
    pg_atomic_write_u64(&statistics->generation, latest_server());
    pg_atomic_write_u64(&statistics->earlier_restarts, 0);
}

Place* place_to_add_to() {
    return own ? own : &statistics->nowhere;
}

void add_noted(Place* place) {
    add(place, Figure::SpilledBytes, std::exchange(noted_spilled_bytes, 0));
    add(place, Figure::KeptChunks, std::exchange(noted_kept_chunks, 0));
    add(place, Figure::KeptBlocks, std::exchange(noted_kept_blocks, 0));
}

// What is stored from a shutdown to the next start. In one process, and not in memory of a context: there is
// none to rely on when that ends.
struct StoredStatistics {
    uint64 restarts;  // of the server, since they were reset
    uint64 count;     // of what follows, first that of no database
    DatabaseFigures databases[kMostDatabases + 1];
};
StoredStatistics stored;

void put_back(Place* place, const DatabaseFigures* figures) {
    place->database = figures->database;
    place->since = figures->since;
    place->reset = figures->reset;
    for (int i = 0; i < kFigures; i++) pg_atomic_write_u64(&place->figures[i], figures->figures[i]);
}

void store(int code, Datum) {
    if (code != 0 || !statistics) return;
    stored.restarts = counted_restarts();
    stored.count = copy_all(stored.databases);
    store_statistics(&stored, sizeof stored);
}

void restore() {
    on_shmem_exit(store, Datum{0});
    if (!read_stored_statistics(&stored, sizeof stored)) return;
    pg_atomic_write_u64(&statistics->earlier_restarts, stored.restarts);
    put_back(&statistics->nowhere, &stored.databases[0]);
    for (uint64 i = 1; i < Min(stored.count, lengthof(stored.databases)); i++)
        put_back(&statistics->places[i - 1], &stored.databases[i]);
}

void attach(void* memory, LWLock* its_lock, bool is_new) {
    statistics = static_cast<JoinStatistics*>(memory);
    lock = its_lock;
    if (is_new) {
        initialise();
        restore();
    }
}

constexpr SharedStruct kShared = {"gpujoin join statistics", sizeof(JoinStatistics), kLockName, attach};

}  // namespace

void install_join_statistics() {
    install_shared_struct(&kShared);
}

void prepare_counting() {
    if (own || !statistics) return;
    auto take_own = [] { return take_place(MyDatabaseId); };
    own = locked(LW_SHARED, [] { return find_place(MyDatabaseId); });
    if (!own) own = locked(LW_EXCLUSIVE, take_own);
    if (own) return;
    forget_dropped_databases();
    own = locked(LW_EXCLUSIVE, take_own);
    if (!own) own = &statistics->nowhere;
}

void count_noted() {
    if (statistics) add_noted(place_to_add_to());
}

void count_join(const JoinCounts* counts) {
    if (!statistics) return;
    Place* place = place_to_add_to();
    add(place, Figure::Joins, counts->is_join);
    add(place, Figure::Failed, counts->failed);
    add(place, Figure::Cancelled, counts->cancelled);
    add(place, Figure::Chains, counts->is_join && counts->is_chain);
    add(place, Figure::Aggregates, counts->is_join && counts->has_groups);
    add(place, Figure::Partitions, counts->is_partition);
    add(place, Figure::Moved, counts->has_moved);
    add(place, Figure::BuildRows, counts->build_rows);
    add(place, Figure::ProbeRows, counts->probe_rows);
    add(place, Figure::ResultRows, counts->result_rows);
    add(place, Figure::Bytes, counts->bytes);
    add_noted(place);
    add(place, Figure::BuildUs, counts->build_us);
    add(place, Figure::ProbeUs, counts->probe_us);
    add(place, Figure::WaitedUs, counts->waited_us);
}

void note_spilled_bytes(uint64 bytes) {
    noted_spilled_bytes += bytes;
}

void note_kept_chunk(bool is_first_part, uint64 blocks) {
    noted_kept_chunks += is_first_part ? 1 : 0;
    noted_kept_blocks += blocks;
}

int read_join_statistics(DatabaseFigures* all) {
    if (!statistics) return 0;
    forget_dropped_databases();
    return locked(LW_SHARED, [all] { return copy_all(all); });
}

uint64 counted_restarts() {
    if (!statistics) return 0;
    const uint64 now = latest_server();
    const uint64 before = Max(pg_atomic_read_u64(&statistics->generation), uint64{1});
    return pg_atomic_read_u64(&statistics->earlier_restarts) + (now > before ? now - before : 0);
}

void reset_join_statistics() {
    if (!statistics) return;
    locked(LW_EXCLUSIVE, [] {
        reset_nowhere();
        for (Place& place : statistics->places)
            if (OidIsValid(place.database)) reset(&place);
    });
}

void reset_join_statistics_of(Oid database) {
    if (!statistics) return;
    locked(LW_EXCLUSIVE, [database] {
        if (!OidIsValid(database))
            reset_nowhere();
        else if (Place* place = find_place(database))
            reset(place);
    });
}

}  // namespace gpujoin
