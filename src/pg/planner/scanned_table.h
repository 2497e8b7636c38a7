// Whether a query scans its only table for rows, as far as that is known before it is planned.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
#include "storage/block.h"
}

namespace gpujoin {

// Whose rows are looked for in fewer pages, that table is read as ever.
inline constexpr BlockNumber kFewestScannedPages = 1024;

// The query has one entry in its range table. True for a table that is not small, whose relation is locked,
// where there are conditions that do not pick a single row, and no row is locked.
bool may_scan_table(const Query* query);

}  // namespace gpujoin
