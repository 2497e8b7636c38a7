// Columns that nobody has asked for so far, of a table that one query after the other asks for columns of.
// The queries that want them next find them, rather than run without until the table has been read once more
// for each.
#pragma once

#include "pg/keep_requests.h"

namespace gpujoin {

// Adds to a request for columns of the table (relation), if other columns of its files are kept already, the
// narrow ones of all others, in the forms that groups and conditions ask for: until the request has 32
// columns, and as many as fit into a half of what the server may keep, together with what is kept.
void anticipate_columns(KeepRequest* request, Relation relation);

}  // namespace gpujoin
