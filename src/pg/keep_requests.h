// What backends ask to be kept: columns of tables that a process of its own, the keeper of a database, reads
// for them (executor/keeper), so that no query pays for it. A few requests have places in shared memory.
// Nothing relies on them: one that is lost is made again by a later scan.
#pragma once

#include <algorithm>

#include "pg/key_encoding.h"
#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "utils/rel.h"
}

namespace gpujoin {

inline constexpr int kMostKeepers = 8;  // at once, each of a database

// A column that is wanted, of an attribute as it was then, or computed.
struct WantedColumn {
    AttrNumber attribute;  // 0: computed
    KeyEncoding encoding;  // None: as an output column
    uint8 is_optional;     // left out where the table has it no more as it was
    Oid declared_type;
    int32 scale;
    int32 copy;
    Oid type;        // of the attribute
    int32 modifier;  // of its type
    uint32 text;     // where the expression begins, canonical and as a text
};

struct KeepRequest {
    static constexpr uint32 kTextBytes = 24576;

    Oid database;
    Oid table;
    ChunkKey files;  // that the table had
    uint32 count;
    uint32 text_bytes;
    uint32 cannot_be_asked;  // not 0: it is too large
    uint32 is_kept;          // not 0: all of it is kept, but not of all blocks
    uint32 patches_alone;    // not 0: of chunks that are there, what has changed
    WantedColumn columns[kMaxKeptColumns];
    char text[kTextBytes];
};

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_keep_requests();

// A request without columns, in the current memory context.
KeepRequest* make_keep_request(Relation relation, const ChunkKey& files);
// Its type is filled in where it is of an attribute. The expression may be nullptr.
void add_wanted_column(KeepRequest* request, Relation relation, WantedColumn column, Node* expression);

// Has the keeper of this database come, for requests that follow at once. False where there can be none.
bool call_keeper();

// True: the keeper sees to it, did so a short time ago, or has so much to do that it is to be asked again
// later; false where there can be none.
bool hand_to_keeper(const KeepRequest* request);

// Tables by their first chunks, as many as there is room for.
struct TableSet {
    static constexpr int kMost = 32;

    int count;
    ChunkKey tables[kMost];

    bool has(const ChunkKey& table) const {
        return std::find(tables, tables + count, table) != tables + count;
    }
    void add(const ChunkKey& table) {
        if (count < kMost && !has(table)) tables[count++] = table;
    }
};

// While a plan is started that is not to be run: its scans ask for what they would use if it were kept, or
// for what is not known to be, and tell of which tables that is.
struct AskingScans {
    bool asks_for_all;  // whatever is known to be kept
    bool may_ask;       // else they only tell
    TableSet lacking;
};
extern AskingScans* asking_scans;  // nullptr: scans are to run
// Until it is set to what is given back.
AskingScans* begin_asking(AskingScans* asking);

// --- For the keeper of a database

// It is there. Before it takes a request; it leaves at the latest when the process ends.
void enter_keepers(Oid database);
// The next request of its database; nullptr: there is none. A copy, until the next is taken.
// batch: the same for those of a plan.
KeepRequest* take_keep_request(Oid database, uint64* batch);
bool is_keep_requested(Oid database);
// False where there is a request.
bool leave_keepers(Oid database);
// The one that was taken last.
void end_keep_request(bool is_kept);

}  // namespace gpujoin
