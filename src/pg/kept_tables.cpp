// A table has its place in one set of places, chosen by its hash; there the one that was used least lately
// makes room.
#include "pg/kept_tables.h"

#include <algorithm>
#include <cstring>

#include "pg/compat.h"
#include "wire/build.h"

extern "C" {
#include "common/hashfn.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kSets = 128;
constexpr uint32 kPlaces = 8;
constexpr uint32 kExpressions = 4096;
constexpr uint32 kAttributes = 4096;
constexpr uint32 kQueries = 1024;
constexpr float kLeastPatience = 0.5;
constexpr float kMostPatience = 1024;

struct KnownTable {
    ChunkKey key;  // relation 0: the place is free
    uint32 scans;
    bool is_wanted;
    float kept_share;
    uint64 used_at;
};

struct KnownQuery {
    uint64 number;
    float paid;      // for runs: milliseconds
    float latest;    // for the latest of them
    float patience;  // times what keeping takes
};

struct KnownTables {
    uint64 build;
    slock_t lock;
    uint64 clock;
    KnownTable table[kSets][kPlaces];
    uint64 expressions[kExpressions];  // hashes, each in its place
    uint64 attributes[kAttributes];    // the same of those that have been kept
    KnownQuery queries[kQueries];      // each in its place
};

KnownTables* known = nullptr;
shmem_request_hook_type previous_request_hook = nullptr;
shmem_startup_hook_type previous_startup_hook = nullptr;

void on_shmem_request() {
    if (previous_request_hook) previous_request_hook();
    RequestAddinShmemSpace(MAXALIGN(sizeof(KnownTables)));
}

void on_shmem_startup() {
    if (previous_startup_hook) previous_startup_hook();
    bool found;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    known = static_cast<KnownTables*>(ShmemInitStruct("gpujoin kept tables", sizeof(KnownTables), &found));
    if (!found) {
        memset(static_cast<void*>(known), 0, sizeof *known);
        known->build = kBuildId;
        SpinLockInit(&known->lock);
    }
    if (known->build != kBuildId) known = nullptr;  // where processes load the library anew
    LWLockRelease(AddinShmemInitLock);
}

uint64 hash_of_attribute(const ChunkKey& table, int attribute) {
    ChunkKey key = table;
    key.number = static_cast<uint32>(attribute);
    return hash_bytes_extended(reinterpret_cast<const unsigned char*>(&key), sizeof key, 0);
}

// With the lock held; nullptr where it is not known.
KnownTable* find(const ChunkKey& key) {
    ChunkKey table = key;
    table.number = 0;
    uint32 set = hash_bytes(reinterpret_cast<const unsigned char*>(&table), sizeof table) % kSets;
    for (KnownTable& place : known->table[set])
        if (place.key == table) return &place;
    return nullptr;
}

KnownTable* find_or_add(const ChunkKey& key) {
    if (KnownTable* table = find(key)) return table;
    ChunkKey table = key;
    table.number = 0;
    uint32 set = hash_bytes(reinterpret_cast<const unsigned char*>(&table), sizeof table) % kSets;
    KnownTable* oldest = known->table[set];
    for (KnownTable& place : known->table[set])
        if (place.used_at < oldest->used_at) oldest = &place;
    *oldest = {table, 0, false, 0, 0};
    return oldest;
}

}  // namespace

void install_kept_tables() {
    previous_request_hook = shmem_request_hook;
    shmem_request_hook = on_shmem_request;
    previous_startup_hook = shmem_startup_hook;
    shmem_startup_hook = on_shmem_startup;
}

bool note_scan_to_keep(const ChunkKey& table) {
    if (!known) return false;
    SpinLockAcquire(&known->lock);
    KnownTable* place = find_or_add(table);
    place->used_at = ++known->clock;
    bool is_repeated = place->scans > 0 || place->is_wanted;
    if (!is_repeated) place->scans++;
    SpinLockRelease(&known->lock);
    return is_repeated;
}

void want_table_kept(const ChunkKey& table) {
    if (!known) return;
    SpinLockAcquire(&known->lock);
    find_or_add(table)->is_wanted = true;
    SpinLockRelease(&known->lock);
}

bool is_table_wanted(const ChunkKey& table) {
    if (!known) return false;
    SpinLockAcquire(&known->lock);
    KnownTable* place = find(table);
    bool is_wanted = place && place->is_wanted;
    SpinLockRelease(&known->lock);
    return is_wanted;
}

void pay_for_keeping(uint64 query, double milliseconds) {
    if (!known) return;
    SpinLockAcquire(&known->lock);
    KnownQuery* place = &known->queries[query % kQueries];
    if (place->number != query) *place = {query, 0, 0, kLeastPatience};
    place->latest = static_cast<float>(milliseconds);
    place->paid += place->latest;
    SpinLockRelease(&known->lock);
}

bool has_paid_for_keeping(uint64 query, double making, bool begins_anew) {
    if (!known) return false;
    SpinLockAcquire(&known->lock);
    KnownQuery* place = &known->queries[query % kQueries];
    bool has_paid = place->number == query && place->paid > 0 &&
                    place->paid + place->latest >= place->patience * static_cast<float>(making);
    if (has_paid && begins_anew) *place = {query, 0, 0, std::min(2 * place->patience, kMostPatience)};
    SpinLockRelease(&known->lock);
    return has_paid;
}

bool note_expression_to_keep(uint64 hash) {
    if (!known) return false;
    SpinLockAcquire(&known->lock);
    uint64* place = &known->expressions[hash % kExpressions];
    bool is_repeated = *place == hash;
    *place = hash;
    SpinLockRelease(&known->lock);
    return is_repeated;
}

bool is_expression_noted(uint64 hash) {
    if (!known) return false;
    SpinLockAcquire(&known->lock);
    bool is_noted = known->expressions[hash % kExpressions] == hash;
    SpinLockRelease(&known->lock);
    return is_noted;
}

void note_kept_blocks(const ChunkKey& table, uint64 kept, uint64 blocks, const Bitmapset* attributes) {
    if (!known) return;
    double share = blocks > 0 ? static_cast<double>(kept) / static_cast<double>(blocks) : 0;
    SpinLockAcquire(&known->lock);
    KnownTable* place = find_or_add(table);
    place->kept_share = static_cast<float>(share);
    place->is_wanted = false;
    for (int attribute = -1; share > 0 && (attribute = bms_next_member(attributes, attribute)) >= 0;) {
        uint64 hash = hash_of_attribute(table, attribute);
        known->attributes[hash % kAttributes] = hash;
    }
    SpinLockRelease(&known->lock);
}

double expected_kept_share(const ChunkKey& table, const Bitmapset* attributes) {
    if (!known) return 0;
    double share = 0;
    SpinLockAcquire(&known->lock);
    if (const KnownTable* place = find(table)) share = static_cast<double>(place->kept_share);
    for (int attribute = -1; share > 0 && (attribute = bms_next_member(attributes, attribute)) >= 0;) {
        uint64 hash = hash_of_attribute(table, attribute);
        if (known->attributes[hash % kAttributes] != hash) share = 0;
    }
    SpinLockRelease(&known->lock);
    return share;
}

void forget_kept_shares(const ChunkKey& table) {
    if (!known) return;
    SpinLockAcquire(&known->lock);
    if (table.relation == 0) {
        for (auto& set : known->table)
            for (KnownTable& place : set) place.kept_share = 0;
    } else if (KnownTable* place = find(table)) {
        place->kept_share = 0;
    }
    SpinLockRelease(&known->lock);
}

}  // namespace gpujoin
