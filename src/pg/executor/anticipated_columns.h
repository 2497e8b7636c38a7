// Columns that nobody has asked for so far, of a table that one query after the other asks for columns of.
// What takes time when columns are kept is reading the table, so that a few more cost little. They are there
// when the next queries want them, which else would have the table read once more each.
#pragma once

#include "pg/keep_requests.h"

namespace gpujoin {

// Adds to a request for columns of the table (relation), if other columns of its files are kept already, the
// narrow ones of all others, in the forms that groups and conditions ask for: as many as fit into a half of
// what the server may keep, together with what is kept.
void anticipate_columns(KeepRequest* request, Relation relation);

}  // namespace gpujoin
