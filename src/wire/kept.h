// Kept columns: columns of tables that stay with the server, so that scans need not read them again. They are
// kept by *chunk*: the rows of the blocks that a quarter of a page of a table's visibility map covers, as far
// as these blocks were proven not to change unnoticed (docs/design.md, Kept columns). What a chunk is proven
// by is the client's business: two numbers and one bit a block, which the server gives back as they came.
#pragma once

#include <compare>
#include <cstdint>

#include "wire/column_spec.h"

namespace gpujoin {

inline constexpr uint32_t kChunksOfMapPage = 4;  // a page has bits for 32672 blocks of 8 kB
inline constexpr uint32_t kChunkBlocks = 32672 / kChunksOfMapPage;
inline constexpr uint32_t kChunkMapBytes = kChunkBlocks / 8;
inline constexpr uint32_t kMaxKeptColumns = 256;  // that one message names
inline constexpr uint32_t kMaxKeptConditions = 64;
inline constexpr uint32_t kMaxScannedChunks = 80;  // in one message
inline constexpr uint32_t kMaxFoundChunks = 80;    // in one message

// Rows of blocks that were changed after a chunk was made are kept in its *patch*: a chunk of the same blocks
// with this bit in its number. No version proves it, but each block's page: all have the same version.
inline constexpr uint32_t kPatchBit = 1u << 31;
inline constexpr uint64_t kPatchVersion = 1;

// A chunk of a table, by what names a relation's files.
struct ChunkKey {
    uint32_t database;
    uint32_t tablespace;
    uint32_t relation;
    uint32_t number;  // of the chunk in the table, from 0

    auto operator<=>(const ChunkKey&) const = default;
    bool is_patch() const { return number & kPatchBit; }
    ChunkKey patch() const { return {database, tablespace, relation, number | kPatchBit}; }
};

// A column as it is kept: what tells it from every other column and encoding of the table, and its values.
struct ChunkColumn {
    uint8_t identity[16];
    ColumnSpec spec;
    uint32_t reserved;
};

// What a condition asks of a value.
enum class KeptTest : uint8_t {
    Inside,   // as a signed integer, whether it is between low and low + span (see KeptInterval)
    Outside,  // or is not
    Same,     // whether its bytes are these
    Other,    // or are others
};

// Floats are tested as the integers that order as they do: the bits of doubles that are not negative, and the
// complement of the others' but for the sign. Both zeros are 0, and NaN is the largest integer.
struct KeptInterval {
    int64_t low;
    uint64_t span;
};
inline constexpr uint32_t kMaxKeptBytes = sizeof(KeptInterval);  // that values are compared with

// Where a row goes on: at a later condition, by its number, or one of these.
inline constexpr uint8_t kRowIsWanted = 254;
inline constexpr uint8_t kRowIsUnwanted = 255;
static_assert(kMaxKeptConditions < kRowIsWanted);

// A test of a column's value. Each row begins at the first condition, and goes on as its test came out: so
// that conditions are connected by AND and OR.
struct KeptCondition {
    union {
        KeptInterval interval;      // Inside, Outside
        char bytes[kMaxKeptBytes];  // Same, Other
    };
    uint16_t column;  // of those that were asked for
    KeptTest test;
    uint8_t length;       // Same, Other: of the bytes
    uint8_t null_passes;  // 0 or 1
    uint8_t if_passed;
    uint8_t if_failed;
    uint8_t reserved;

    bool is_of_bytes() const { return test >= KeptTest::Same; }
};

// What columns that are kept together must have in common is the version; of `since` the least counts.
struct ChunkProof {
    uint64_t version;
    uint64_t since;
};

// One bit a block of a chunk, lowest first.
struct ChunkMap {
    uint8_t bits[kChunkMapBytes];

    bool has(uint32_t block) const { return bits[block >> 3] >> (block & 7) & 1; }
    void add(uint32_t block) { bits[block >> 3] |= static_cast<uint8_t>(1u << (block & 7)); }
    bool contains(const ChunkMap& inner) const {
        uint8_t others = 0;
        for (uint32_t i = 0; i < kChunkMapBytes; i++) others |= inner.bits[i] & ~bits[i];
        return others == 0;
    }
};

// What there is of a chunk that was asked for.
struct FoundChunk {
    ChunkProof proof;
    uint64_t rows;
    uint32_t handle;  // from 1 on; 0: not all of the columns are there
    uint8_t exists;
    uint8_t has[kMaxKeptColumns / 8];  // of the columns that were asked for: one bit each
    ChunkMap map;                      // empty where there is no chunk
    uint8_t reserved[6];
};
static_assert(sizeof(FoundChunk) % 8 == 0);

// A chunk that is scanned, by the handle it was found under, and the blocks whose rows are wanted.
struct ScannedChunk {
    uint32_t handle;
    ChunkMap map;
    uint8_t reserved[3];
};

}  // namespace gpujoin
