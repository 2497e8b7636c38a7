// ScanConditions: those of a sequential scan, tested on the rows of a page. Comparisons of a column with a
// constant or Param of integers, floats, oids, dates and times are tested column by column; where there are
// others, rows that are left go through ExecQual().
#pragma once

#include "pg/executor/heap_deform.h"

extern "C" {
#include "access/relscan.h"
#include "nodes/execnodes.h"
}

namespace gpujoin {

struct ScanConditions;

// The table's columns that the conditions of a scan read from a deformer, added to `wanted`.
Bitmapset* scan_conditions_columns(SeqScanState* node, Bitmapset* wanted);

// nullptr where the scan has no condition. Allocates in the current memory context.
ScanConditions* scan_conditions_create(SeqScanState* node, const HeapDeformer* deformer);

// To be called when a scan starts: values of Params may have changed.
void scan_conditions_reset(ScanConditions* conditions);

// Whether some are tested on the deformer's columns. Where none are, rows need not be deformed before.
bool scan_conditions_read_columns(const ScanConditions* conditions);

// Writes the numbers of the rows that meet all conditions, ascending, and returns how many they are. The
// deformer holds `rows` rows of the scan's current page, if it is read, the lines of which are given.
uint32 scan_conditions_rows(ScanConditions* conditions, TableScanDesc scan, const OffsetNumber* lines,
                            uint32 rows, uint16* passed);

}  // namespace gpujoin
