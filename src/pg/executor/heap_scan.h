// HeapScan: the rows of a sequential scan of a heap table, read straight from its pages, with visibility
// decided a page at a time. It stands in for ExecProcNode() on the scan node, whose descriptor, conditions,
// instrumentation and counters it uses and keeps as the node would: EXPLAIN ANALYZE and the statistics views
// look as if the node had run. A scan is read either this way or through ExecProcNode(), never both.
#pragma once

#include "pg/executor/row_set.h"

extern "C" {
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

struct HeapScan;

// A reader of the child's rows, or nullptr where they must come through its slot: it is not a sequential scan
// of a heap table, it computes something or returns system columns, the snapshot is not an MVCC one, or rows
// are being rechecked for EvalPlanQual. wanted: attributes of the child's slot, from 1. Allocates in the
// current memory context; opens nothing.
HeapScan* heap_scan_create(PlanState* child, const Bitmapset* wanted);

// The rows of the current page that were not taken yet, or those of the next page that has some; nullptr at
// the end. Valid until the next call that comes after all of them were taken.
const RowSet* heap_scan_rows(HeapScan* scan);

// Takes the first `rows` of them.
void heap_scan_take(HeapScan* scan, uint32_t rows);

// Starts the scan, unless it has been started: its descriptor is made, with the locks that come with it. Its
// number of blocks.
BlockNumber heap_scan_start(HeapScan* scan);

// From now on passes over those of the first so many blocks whose bits are set in an array of bits, lowest
// first; nullptr: none. Of a scan that has been started and has given nothing. All who share its blocks pass
// over the same.
void heap_scan_pass_over(HeapScan* scan, const uint8_t* passed_over, BlockNumber blocks);

// Reads blocks of those that are passed over after all, by their bits, before it goes on with others.
void heap_scan_read_too(HeapScan* scan, const uint8_t* blocks);

// The node, and the table's attribute behind an attribute of its slot.
PlanState* heap_scan_node(const HeapScan* scan);
// 0: there is none, but a constant, which is nullptr otherwise.
AttrNumber heap_scan_attribute(const HeapScan* scan, AttrNumber attribute);
Const* heap_scan_constant(const HeapScan* scan, AttrNumber attribute);
Relation heap_scan_relation(const HeapScan* scan);
// Whether other processes read a part of its blocks; of a scan that has been started.
bool heap_scan_is_shared(const HeapScan* scan);

// Forgets what was read; the child has been, or will be, rescanned or ended.
void heap_scan_reset(HeapScan* scan);

}  // namespace gpujoin
