// Making chunks of kept columns: the blocks of a table that are proven are read, and the columns of all their
// rows sent to the server.
#pragma once

#include "pg/client/kept_client.h"
#include "pg/executor/kept_columns.h"
#include "pg/kept_proof.h"

namespace gpujoin {

struct KeptMaker;

// Reads the table, whose lock is held, for as long as the current memory context lives.
KeptMaker* make_kept_maker(Relation relation, const KeptColumns* columns);

// Makes what a chunk that was found lacks of the maker's columns, or all of them where it lacks none, for the
// blocks of the page of the map, which was read before; or for those of them that are there and still true,
// so that columns can join others. No results may be outstanding. False where it came to nothing: there is no
// room, or the table has changed meanwhile.
bool make_chunk(KeptMaker* maker, Client* client, uint32 chunk, MapPage page, const FoundChunk& found);

// Makes the chunk's patch, of these blocks as far as they are settled, which tells of which. found: the patch
// that is there, and which of its blocks are needed and have not changed. False where it came to nothing.
bool make_patch(KeptMaker* maker, Client* client, uint32 chunk, ChunkMap blocks, const FoundChunk& found,
                const ChunkMap& unchanged, ChunkMap* settled);

}  // namespace gpujoin
