// See vain_hopes.h. Statements are known by a hash of their text: who is mistaken for another one is planned
// without what may be there.
#include "pg/planner/vain_hopes.h"

#include <cstring>

#include "pg/kept_tables.h"

extern "C" {
#include "common/hashfn.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int kStatements = 64;
constexpr int kMilliseconds = 2 * 60 * 1000;

struct VainHope {
    uint64 statement;
    uint64 changes;  // of what is kept, until then
    TimestampTz at;
    TableSet tables;
};

VainHope hopes[kStatements];

}  // namespace

uint64 number_of_statement(const Query* query, const char* text) {
    if (!text) return 0;
    const uint64 hash = hash_combine64(
        hash_bytes_extended(reinterpret_cast<const unsigned char*>(text), static_cast<int>(strlen(text)), 0),
        static_cast<uint64>(query->stmt_location));
    return hash == 0 ? 1 : hash;
}

TableSet counted_on_in_vain(uint64 statement) {
    const VainHope& hope = hopes[statement % kStatements];
    const bool is_known = statement != 0 && hope.statement == statement && hope.changes == kept_changes() &&
                          !TimestampDifferenceExceeds(hope.at, GetCurrentTimestamp(), kMilliseconds);
    return is_known ? hope.tables : TableSet{};
}

void note_counted_in_vain(uint64 statement, const TableSet& tables) {
    if (statement == 0) return;
    hopes[statement % kStatements] = {statement, kept_changes(), GetCurrentTimestamp(), tables};
}

}  // namespace gpujoin
