// KeptSource: the rows of a sequential scan that need not be read, because the server has kept the columns
// that are wanted of them. It stands in front of a HeapScan, which reads the blocks that are left.
#pragma once

#include "pg/client/kept_client.h"
#include "pg/executor/batch_writer.h"
#include "pg/executor/heap_scan.h"

namespace gpujoin {

struct KeptSource;

struct KeptShare;

// For a scan of which these columns are sent; nullptr where there can be no kept ones: not all of them are
// such as can be kept, or there are conditions that the server does not test. A worker has one wherever its
// leader has. Allocates in the current memory context.
KeptSource* kept_source_create(HeapScan* scan, const BatchWriter* writer, EState* estate);

// Processes that run the scan together share what is in so many bytes of memory. The leader lays it out, and
// renews it before each run but the first; each uses it, and nullptr in the end. One decides in each run,
// before the others ask for chunks.
Size kept_source_share_size(KeptSource* source);
void kept_source_init_share(KeptSource* source, void* memory, int processes);
void kept_source_renew_share(KeptSource* source, KeptShare* share);
void kept_source_use_share(KeptSource* source, KeptShare* share);
void kept_source_decide(KeptSource* source, Client* client);

enum class KeptProbe {
    Sent,
    Later,  // all results are to be received first
    None,   // there are no more kept rows
};

// Has the server probe with the kept rows of some more chunks, which it may have made before: then no results
// may be outstanding, nor at the first call. The scan is not to be read before there are no more.
KeptProbe kept_source_probe(KeptSource* source, Client* client, bool may_make, uint64* sequence);
// Has the kept rows of all chunks appended to the build side of a stage, before the scan is read. How many
// they are, or, where memory is refused, might have been.
uint64 kept_source_build(KeptSource* source, Client* client, uint32_t stage);

// The session is over, or the scan starts again.
void kept_source_reset(KeptSource* source);

struct KeptFigures {
    uint32 chunks;  // that the table has
    uint32 used;
    uint64 blocks;  // of the table
    uint64 passed_over;
};
// Of the last run; false where there was none.
bool kept_source_figures(KeptSource* source, KeptFigures* figures);

}  // namespace gpujoin
