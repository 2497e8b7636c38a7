// Making chunks of kept columns: the blocks of a table that are proven are read, and the columns of all their
// rows sent to the server.
#pragma once

#include "pg/client/kept_client.h"
#include "pg/executor/kept_columns.h"
#include "pg/executor/kept_proof.h"

namespace gpujoin {

struct KeptMaker;

// Reads the table, whose lock is held, for as long as the current memory context lives.
KeptMaker* make_kept_maker(Relation relation, const KeptColumns* columns);

// Makes a chunk of the columns that are wanted of those of the maker, for the blocks of the page of the map,
// which was read before. No results may be outstanding. False where it came to nothing: there is no room, or
// the table has changed meanwhile.
bool make_chunk(KeptMaker* maker, Client* client, uint32 chunk, const MapPage* page, const bool* wanted);

}  // namespace gpujoin
