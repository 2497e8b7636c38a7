// The counts behind pg_stat_gpujoin: a place in shared memory for each database that has run joins, to which
// processes add when a join ends, without a lock. There are kMostDatabases places; what is counted in further
// databases goes to the place of no database, and so does what was counted in one that has been dropped.
#pragma once

extern "C" {
#include "postgres.h"
#include "datatype/timestamp.h"
}

namespace gpujoin {

// What a process counts of a join, or of one of the sessions with the server that a join is run in.
struct JoinCounts {
    uint64 build_rows;
    uint64 probe_rows;
    uint64 result_rows;
    uint64 bytes;      // sent to the server
    uint64 build_us;   // in the node, with reading its inputs, until all build sides were sealed
    uint64 probe_us;   // after that
    uint64 waited_us;  // for the server, of both
    bool is_join;      // nobody else counts that there was this join, nor was it counted before
    bool is_chain;
    bool has_groups;
    bool is_partition;  // of a join for which memory is short
    bool has_moved;     // from its device to the CPU engine
    bool failed;
    bool cancelled;  // or given up, with its transaction or session
};

// Asks for shared memory. While shared_preload_libraries are loaded only.
void install_join_statistics();

// Finds the place of this process's database, of which it may have to look up others. In a transaction,
// before anything is counted.
void prepare_counting();

// Adds them, and what has been noted since. Lock-free, and may be called while a transaction is given up.
void count_join(const JoinCounts* counts);

// What the parts of a join cannot tell to whoever counts it. A process that may have no session afterwards,
// with which that would be counted, counts it at once.
void note_spilled_bytes(uint64 bytes);  // written to temporary files
void note_kept_chunk(bool is_first_part,
                     uint64 blocks);  // that need not be read, because the server has kept columns of them
void count_noted();

// Of a database since it was counted there, or was reset.
enum class Figure : uint8 {  // stored by these numbers: with them kFormat changes (statistics_file.cpp)
    Joins,
    Failed,
    Cancelled,
    Chains,
    Aggregates,
    Partitions,
    Moved,
    BuildRows,
    ProbeRows,
    ResultRows,
    Bytes,
    SpilledBytes,
    KeptChunks,
    KeptBlocks,
    BuildUs,
    ProbeUs,
    WaitedUs,
};
inline constexpr int kFigures = static_cast<int>(Figure::WaitedUs) + 1;

struct DatabaseFigures {
    Oid database;       // InvalidOid: all that are not in places of their own
    TimestampTz since;  // when counting began
    TimestampTz reset;  // 0: never
    uint64 figures[kFigures];
};
inline uint64 figure_of(const DatabaseFigures* of, Figure figure) {
    return of->figures[static_cast<int>(figure)];
}

inline constexpr int kMostDatabases = 128;

// What there is: first that of no database. At most kMostDatabases + 1; 0 where there is no shared memory of
// ours. Databases that are gone lose their places first. In a transaction.
int read_join_statistics(DatabaseFigures* all);

// How often the server was started again since the statistics were set up, or last reset as a whole or for no
// database.
uint64 counted_restarts();

void reset_join_statistics();
// Of one that nothing was counted in there is nothing to reset.
void reset_join_statistics_of(Oid database);

}  // namespace gpujoin
