// Columns that nobody has asked for so far, of a table that one query after the other asks for columns of.
// The queries that want them next find them, rather than run without until the table has been read once more
// for each.
#pragma once

#include "pg/keep_requests.h"

namespace gpujoin {

// How many bytes may be kept of a table that nobody has asked for: a half of what the server may keep, less
// what it does. 0 where it keeps nothing of the table's files. Asks the server.
double room_for_anticipated(const ChunkKey& files);

// Those of the table's columns, of these files, that are narrow and not kept so far, in the forms that groups
// and conditions ask for: up to 32, of so many bytes. In the current memory context; nullptr: there are none.
KeepRequest* anticipate_columns(Relation relation, const ChunkKey& files, double room);

}  // namespace gpujoin
