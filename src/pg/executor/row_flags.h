// RowFlags: one bit for each row of a file, by its number: whether the row has found a match so far. In this
// process's memory, which a million rows take 128 kB of.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

struct RowFlags {
    MemoryContext context;
    uint8* bits;
    uint64 bytes;  // allocated
    int users;     // partitions that read or write it
};

// Which rows of a file are read.
enum class RowsRead : uint8_t { All, Flagged, Unflagged };

RowFlags* row_flags_create(MemoryContext context);
void row_flags_set(RowFlags* flags, uint64 row);
// One user less; the last one's going frees it.
void row_flags_leave(RowFlags* flags);

inline bool row_flags_test(const RowFlags* flags, uint64 row) {
    uint64 byte = row >> 3;
    return byte < flags->bytes && (flags->bits[byte] >> (row & 7) & 1);
}

inline bool are_read(RowsRead read, const RowFlags* flags, uint64 row) {
    return read == RowsRead::All || row_flags_test(flags, row) == (read == RowsRead::Flagged);
}

}  // namespace gpujoin
