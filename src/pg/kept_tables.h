// What backends tell each other about tables whose columns are kept, or may be worth keeping: hints in shared
// memory, of some hundred tables, for the planner and for the decision to keep. Nothing relies on them.
#pragma once

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_kept_tables();

// Counts a scan of a table (key: its first chunk) that could use kept columns. True from the second one on:
// its columns are worth keeping.
bool note_scan_to_keep(const ChunkKey& table);

// Counts a scan that could use the values of an expression, by its hash (kept_expression.h). True from the
// second one on: they are worth keeping. Each may be forgotten at any time.
bool note_expression_to_keep(uint64 hash);
bool is_expression_noted(uint64 hash);

// What came of a scan: so many of the table's blocks need not be read.
void note_kept_blocks(const ChunkKey& table, uint64 kept, uint64 blocks);

// The share of a table's blocks that the next scan need not read: as the last one had it. A scan that is
// going to make chunks reads the table, and is planned as one that does.
double expected_kept_share(const ChunkKey& table);

}  // namespace gpujoin
