// The cursor of a probe whose source rows are kept: of rows of a scan, batch after batch, until those who
// share them have had all.
#pragma once

#include "engine/fragment.h"
#include "engine/kept/kept_view.h"

namespace gpujoin {

// The scan is valid for the fragment's source. All of them outlive the cursor. most_rows: that the fragment
// is given at a time. A cursor that is skipped gives its rows all the same.
std::unique_ptr<Cursor> make_kept_cursor(Fragment& fragment, const KeptScan& scan, KeptPosition& position,
                                         std::span<const ColumnSpec> source, uint32_t most_rows,
                                         Ledger* ledger);

}  // namespace gpujoin
