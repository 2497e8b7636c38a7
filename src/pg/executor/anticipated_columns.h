// Columns that nobody has asked for so far, of a table that one query after the other asks for columns of.
// The queries that want them next find them, rather than run without until the table has been read once more
// for each.
#pragma once

#include "pg/keep_requests.h"

namespace gpujoin {

// How many bytes may be kept of a table that nobody has asked for: a half of what the server may keep, less
// what it does. 0 where it keeps nothing of the table's files. Asks the server.
double room_for_anticipated(const ChunkKey& files);

// Adds to a request for columns of the table (relation) that are not kept so far the narrow ones of all
// others, in the forms that groups and conditions ask for, until it has 32 columns. There is room for so many
// bytes, of which what is asked for takes its part first.
void anticipate_columns(KeepRequest* request, Relation relation, double room);

}  // namespace gpujoin
