// What backends tell each other about tables whose columns are kept, or may be worth keeping, and about
// queries that read them: hints in shared memory, of some hundred tables and some thousand queries, for the
// planner and for the decision to keep. Nothing relies on them.
#pragma once

#include <span>

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "nodes/bitmapset.h"
}

namespace gpujoin {

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_kept_tables();

// Of a table whose columns are kept as it is scanned, and from whose kept columns rows are taken.
inline constexpr uint32 kFewestKeptBlocks = 128;

// Counts a scan of a table (key: its first chunk) that could use kept columns. True from the second one on:
// its columns are worth keeping.
bool note_scan_to_keep(const ChunkKey& table);

// Counts a scan that could use the values of an expression, by its hash (kept_expression.h). True from the
// second one on: they are worth keeping. Each may be forgotten at any time.
bool note_expression_to_keep(uint64 hash);
bool is_expression_noted(uint64 hash);

// The next scan of the table keeps its columns, whatever it is that is computed of them, and however often it
// was wanted before.
void want_table_kept(const ChunkKey& table);
bool is_table_wanted(const ChunkKey& table);

// How a query (planner/prospects.h) is to be planned.
enum class KeptAdvice : uint8 {
    AsItIs,
    Pretend,  // as if all were kept that could be
    Ignore,   // as if nothing were
};

// A query's run, by a plan that was made when some of what could be kept was not, when all was, or as if
// nothing were.
struct KeptRun {
    uint64 query;
    enum Kind : uint8 { Unkept, Kept, Ignoring } kind;
};

// The run has taken so long. Each query may be forgotten at any time.
void note_run(const KeptRun& run, double milliseconds);
// making: milliseconds to keep what is not kept so far; 0: there is nothing. Pretend: runs without have, with
// the next one, come to a quarter of that. is_used: then they begin anew, and it takes twice as much the next
// time.
KeptAdvice advise_on_kept(uint64 number, double making, bool is_used);

// What blocks that scans read, though others are kept, may be worth.
enum class Lacking : uint8 {
    OfChunks,  // they are all-visible, but not in the chunks that are there: these could be made again
    Patches,   // they have changed, and could be in patches by now
};

// A scan reads so many such blocks. True when the scans since the last time have read as many as are enough:
// then it pays.
bool note_lacking_blocks(const ChunkKey& table, Lacking what, uint64 lacking, uint64 enough);

// What came of a scan: so many of the table's blocks need not be read, by who asks for columns made of these
// attributes.
void note_kept_blocks(const ChunkKey& table, uint64 kept, uint64 blocks, const Bitmapset* attributes);

// The share of a table's blocks that a scan of these attributes need not read: as the last one had it, if all
// have been kept in some form. A scan that is going to make chunks reads the table, and is planned as one
// that does. In which form a plan wants them shows when it is started (planner/asked_plans.h).
struct ExpectedShare {
    double share;
    uint64 since;  // how far the log of changes had come when it was noted
};
ExpectedShare expected_kept_share(const ChunkKey& table, const Bitmapset* attributes);

// The forms of a table's columns that are kept (ChunkColumn::identity), and those that are not, or not any
// more. True where all of them are; each may be forgotten at any time.
void note_kept_forms(const ChunkKey& table, std::span<const ChunkColumn> columns);
void forget_kept_form(const ChunkKey& table, const ChunkColumn& column);
bool are_forms_kept(const ChunkKey& table, std::span<const ChunkColumn> columns);
// Goes up whenever something that was kept is not any more.
uint64 kept_losses();
// And whenever a form is noted that was not.
uint64 kept_changes();

// Nothing is kept of a table any more; of relation 0 of any, because the server is another one, perhaps.
void forget_kept_shares(const ChunkKey& table);

}  // namespace gpujoin
