// The cursor of a probe whose source rows are kept: of rows of a scan, batch after batch, until those who
// share them have had all.
#pragma once

#include "engine/fragment.h"
#include "engine/kept/kept_view.h"

namespace gpujoin {

// The reader gives rows of the fragment's source, which outlives the cursor. A cursor that is skipped gives
// its rows all the same.
std::unique_ptr<Cursor> make_kept_cursor(Fragment& fragment, std::unique_ptr<KeptReader> reader);

}  // namespace gpujoin
