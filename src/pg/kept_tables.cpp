// A table has its place in one set of places, chosen by its hash; there the one that was used least lately
// makes room.
#include "pg/kept_tables.h"

#include <algorithm>
#include <array>

#include "pg/compat.h"
#include "pg/kept_proof.h"
#include "pg/shared_memory.h"

extern "C" {
#include "access/htup_details.h"
#include "common/hashfn.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kSets = 128;
constexpr uint32 kPlaces = 8;
constexpr uint32 kExpressions = 65536;
constexpr uint32 kQueries = 8192;
constexpr uint32 kFormSets = 8192;
constexpr uint32 kFormPlaces = 8;
constexpr uint32 kAttributeBits = 64;
constexpr uint32 kAttributeWords = MaxHeapAttributeNumber / kAttributeBits + 1;
constexpr float kLeastPatience = 0.25;
constexpr float kMostPatience = 1024;
// Plans with kept columns are given up for some runs when the fastest of so many is so many times slower.
constexpr uint8 kRunsToJudge = 3;
constexpr float kSlower = 1.5;
constexpr uint8 kRunsIgnoring = 100;

struct KnownTable {
    ChunkKey key;  // relation 0: the place is free
    uint32 scans;
    bool is_wanted;
    float kept_share;
    uint64 used_at;
    uint64 since;                        // when its forms began to be noted: those before are forgotten
    uint64 log_position;                 // when kept_share was noted
    uint64 lacking[2];                   // by Lacking: blocks that scans have read since the last time
    uint64 attributes[kAttributeWords];  // those that have been kept, a bit each
};

// Times in milliseconds.
struct KnownQuery {
    uint64 number;
    float paid;      // for runs while something was not kept
    float latest;    // for the latest of them
    float patience;  // times what keeping takes
    float fastest;   // of them
    float fastest_kept;
    uint8 kept_runs;
    uint8 ignoring;  // so many runs more
};

struct KnownTables {
    uint64 build;
    slock_t lock;
    uint64 clock;
    KnownTable table[kSets][kPlaces];
    uint64 expressions[kExpressions];  // hashes, each in its place
    KnownQuery queries[kQueries];      // each in its place
    uint64 losses;
    uint64 gains;
    uint64 forms[kFormSets][kFormPlaces];  // hashes, the latest first in its set
};

KnownTables* known = nullptr;

void attach(void* memory, LWLock* /*lock*/, bool is_new) {
    known = static_cast<KnownTables*>(memory);
    if (is_new) SpinLockInit(&known->lock);
}

constexpr SharedStruct kShared = {"gpujoin kept tables", sizeof(KnownTables), nullptr, attach};

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
    *oldest = {};
    oldest->key = table;
    oldest->since = ++known->clock;
    return oldest;
}

// With the lock held. What is kept of it is not any more.
void lose(KnownTable* table) {
    table->kept_share = 0;
    table->since = ++known->clock;
    known->losses++;
}

}  // namespace

void install_kept_tables() {
    install_shared_struct(&kShared);
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
    KnownTable* place = find_or_add(table);
    place->is_wanted = true;
    place->used_at = ++known->clock;
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

namespace {

// With the lock held.
KnownQuery* find_query(uint64 number) {
    KnownQuery* place = &known->queries[number % kQueries];
    if (place->number != number) *place = {number, 0, 0, kLeastPatience, 0, 0, 0, 0};
    return place;
}

void note_unkept(KnownQuery* query, float time) {
    query->latest = time;
    query->paid += time;
    query->fastest = query->fastest > 0 ? std::min(query->fastest, time) : time;
}

void note_kept(KnownQuery* query, float time) {
    query->fastest_kept = query->kept_runs > 0 ? std::min(query->fastest_kept, time) : time;
    if (++query->kept_runs < kRunsToJudge) return;
    query->kept_runs = 0;
    const bool is_slower = query->fastest > 0 && query->fastest_kept >= kSlower * query->fastest;
    if (is_slower) query->ignoring = kRunsIgnoring;
}

// Unless it turns out that this is no better: other constants than before may have been quick without.
void note_ignoring(KnownQuery* query, float time) {
    if (query->ignoring == 0) return;
    query->ignoring--;
    if (time < query->fastest_kept) return;
    query->ignoring = 0;
    query->fastest = time;
}

}  // namespace

void note_run(const KeptRun& run, double milliseconds) {
    if (!known) return;
    const auto time = static_cast<float>(milliseconds);
    SpinLockAcquire(&known->lock);
    KnownQuery* query = find_query(run.query);
    switch (run.kind) {
        case KeptRun::Unkept:
            note_unkept(query, time);
            break;
        case KeptRun::Kept:
            note_kept(query, time);
            break;
        case KeptRun::Ignoring:
            note_ignoring(query, time);
            break;
    }
    SpinLockRelease(&known->lock);
}

KeptAdvice advise_on_kept(uint64 number, double making, bool is_used) {
    if (!known) return KeptAdvice::AsItIs;
    KeptAdvice advice = KeptAdvice::AsItIs;
    SpinLockAcquire(&known->lock);
    KnownQuery* query = find_query(number);
    if (query->ignoring > 0) {
        advice = KeptAdvice::Ignore;
    } else if (making > 0 && query->paid > 0 &&
               query->paid + query->latest >= query->patience * static_cast<float>(making)) {
        advice = KeptAdvice::Pretend;
        if (is_used) {
            query->paid = query->latest = 0;
            query->patience = std::min(2 * query->patience, kMostPatience);
        }
    }
    SpinLockRelease(&known->lock);
    return advice;
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

bool note_lacking_blocks(const ChunkKey& table, Lacking what, uint64 lacking, uint64 enough) {
    if (!known) return false;
    SpinLockAcquire(&known->lock);
    KnownTable* place = find_or_add(table);
    place->used_at = ++known->clock;
    uint64* read = &place->lacking[static_cast<int>(what)];
    *read += lacking;
    const bool is_enough = *read >= enough;
    if (is_enough) *read = 0;
    SpinLockRelease(&known->lock);
    return is_enough;
}

void note_kept_blocks(const ChunkKey& table, uint64 kept, uint64 blocks, const Bitmapset* attributes) {
    if (!known) return;
    double share = blocks > 0 ? static_cast<double>(kept) / static_cast<double>(blocks) : 0;
    const uint64 position = log_position();
    SpinLockAcquire(&known->lock);
    KnownTable* place = find_or_add(table);
    place->used_at = ++known->clock;
    place->kept_share = static_cast<float>(share);
    place->log_position = position;
    place->is_wanted = false;
    for (int attribute = -1; share > 0 && (attribute = bms_next_member(attributes, attribute)) >= 0;)
        place->attributes[attribute / kAttributeBits] |= uint64{1} << (attribute % kAttributeBits);
    SpinLockRelease(&known->lock);
}

ExpectedShare expected_kept_share(const ChunkKey& table, const Bitmapset* attributes) {
    if (!known) return {};
    ExpectedShare expected = {};
    SpinLockAcquire(&known->lock);
    const KnownTable* place = find(table);
    if (place) expected = {static_cast<double>(place->kept_share), place->log_position};
    for (int attribute = -1; expected.share > 0 && (attribute = bms_next_member(attributes, attribute)) >= 0;)
        if (!(place->attributes[attribute / kAttributeBits] >> (attribute % kAttributeBits) & 1))
            expected.share = 0;
    SpinLockRelease(&known->lock);
    return expected;
}

namespace {

// Of so many columns hashes are made before the lock is taken, under which little time may pass.
using FormHashes = std::array<uint64, 16>;

uint64 hash_of_form(const ChunkKey& table, const ChunkColumn& column) {
    ChunkKey key = table;
    key.number = 0;
    return hash_combine64(hash_bytes_extended(column.identity, sizeof column.identity, 0),
                          hash_bytes_extended(reinterpret_cast<const unsigned char*>(&key), sizeof key, 0));
}

// How many they are, the columns' first ones, which are taken off.
size_t take_hashes(const ChunkKey& table, std::span<const ChunkColumn>* columns, FormHashes* hashes) {
    const size_t count = std::min(columns->size(), hashes->size());
    for (size_t i = 0; i < count; i++) (*hashes)[i] = hash_of_form(table, (*columns)[i]);
    *columns = columns->subspan(count);
    return count;
}

// Since the table's forms were forgotten.
uint64 form_of(const KnownTable* table, uint64 hash) {
    return hash_combine64(hash, table->since);
}

// Moves it, or what makes room for it, to the front of its set.
void put_form(uint64 form) {
    uint64* set = known->forms[form % kFormSets];
    uint64* place = std::find(set, set + kFormPlaces - 1, form);
    std::move_backward(set, place, place + 1);
    *set = form;
}

bool has_form(uint64 form) {
    const uint64* set = known->forms[form % kFormSets];
    return std::find(set, set + kFormPlaces, form) != set + kFormPlaces;
}

}  // namespace

void note_kept_forms(const ChunkKey& table, std::span<const ChunkColumn> columns) {
    if (!known) return;
    FormHashes hashes;
    while (const size_t count = take_hashes(table, &columns, &hashes)) {
        SpinLockAcquire(&known->lock);
        const KnownTable* place = find_or_add(table);
        for (size_t i = 0; i < count; i++) {
            const uint64 form = form_of(place, hashes[i]);
            if (!has_form(form)) known->gains++;
            put_form(form);
        }
        SpinLockRelease(&known->lock);
    }
}

void forget_kept_form(const ChunkKey& table, const ChunkColumn& column) {
    if (!known) return;
    const uint64 hash = hash_of_form(table, column);
    SpinLockAcquire(&known->lock);
    if (const KnownTable* place = find(table)) {
        const uint64 form = form_of(place, hash);
        for (uint64& known_form : known->forms[form % kFormSets]) {
            if (known_form != form) continue;
            known_form = 0;
            known->losses++;
        }
    }
    SpinLockRelease(&known->lock);
}

bool are_forms_kept(const ChunkKey& table, std::span<const ChunkColumn> columns) {
    if (!known) return false;
    FormHashes hashes;
    bool are_kept;
    do {
        const size_t count = take_hashes(table, &columns, &hashes);
        SpinLockAcquire(&known->lock);
        const KnownTable* place = find(table);
        are_kept = place && std::all_of(hashes.begin(), hashes.begin() + count,
                                        [place](uint64 hash) { return has_form(form_of(place, hash)); });
        SpinLockRelease(&known->lock);
    } while (are_kept && !columns.empty());
    return are_kept;
}

uint64 kept_losses() {
    if (!known) return 0;
    SpinLockAcquire(&known->lock);
    const uint64 losses = known->losses;
    SpinLockRelease(&known->lock);
    return losses;
}

uint64 kept_changes() {
    if (!known) return 0;
    SpinLockAcquire(&known->lock);
    const uint64 changes = known->losses + known->gains;
    SpinLockRelease(&known->lock);
    return changes;
}

void forget_kept_shares(const ChunkKey& table) {
    if (!known) return;
    SpinLockAcquire(&known->lock);
    if (table.relation == 0) {
        for (auto& set : known->table)
            for (KnownTable& place : set) lose(&place);
    } else if (KnownTable* place = find(table)) {
        lose(place);
    }
    SpinLockRelease(&known->lock);
}

}  // namespace gpujoin
