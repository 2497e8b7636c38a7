// KeptSource: the rows of a sequential scan that need not be read, because the server has kept the columns
// that are wanted of them. It stands in front of a HeapScan, which reads the blocks that are left.
#pragma once

#include "pg/client/kept_client.h"
#include "pg/executor/batch_writer.h"
#include "pg/executor/heap_scan.h"

namespace gpujoin {

struct KeptSource;

// For a scan of which these columns are sent; nullptr where there can be no kept ones: not all of them are
// plain columns, there are conditions that the server does not test, or other processes share the scan.
// Allocates in the current memory context.
KeptSource* kept_source_create(HeapScan* scan, const BatchWriter* writer, EState* estate);

// Has the server probe with the kept rows of one more chunk, or append them to the build side of a stage.
// False where there are no more; the scan is not to be read before that. The first call finds the chunks, and
// has those made that are to be: no results may be outstanding then.
bool kept_source_probe(KeptSource* source, Client* client, uint64* sequence);
bool kept_source_build(KeptSource* source, Client* client, uint32_t stage, uint64* rows);

// The session is over, or the scan starts again.
void kept_source_reset(KeptSource* source);

struct KeptFigures {
    uint32 chunks;  // that the table has
    uint32 used;
    uint64 blocks;  // of the table
    uint64 passed_over;
};
// Of the last run; false where there was none.
bool kept_source_figures(const KeptSource* source, KeptFigures* figures);

}  // namespace gpujoin
