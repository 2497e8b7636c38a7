// RowSet: a run of rows in columns of Datums, as a page of a table gives them. By-reference values point into
// the page.
#pragma once

extern "C" {
#include "postgres.h"
#include "executor/tuptable.h"
}

namespace gpujoin {

struct RowSet {
    uint32_t rows;
    const Datum* const*
        values;                // by attribute of the child's slot, from 0; nullptr where it was not asked for
    const bool* const* nulls;  // likewise
    const bool* has_nulls;     // by attribute: may some value be NULL?
    TupleTableSlot* slot;      // virtual, for row_set_fetch()
    int attributes;
};

// Puts a row into the set's slot, for expressions. Attributes that were not asked for are NULL.
inline TupleTableSlot* row_set_fetch(const RowSet* set, uint32_t row) {
    TupleTableSlot* slot = set->slot;
    for (int i = 0; i < set->attributes; i++) {
        if (!set->values[i]) continue;
        slot->tts_values[i] = set->values[i][row];
        slot->tts_isnull[i] = set->nulls[i][row];
    }
    return slot;
}

}  // namespace gpujoin
