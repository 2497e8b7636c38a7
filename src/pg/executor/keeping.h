// Keeping columns of a table without a scan that wants them: for gpujoin_keep(), and by the keeper.
#pragma once

#include "pg/executor/kept_maker.h"
#include "wire/fragment_spec.h"

namespace gpujoin {

// As scans ask: whether this transaction, under its active snapshot, may keep columns of the table.
bool may_keep_now(Relation relation);

// A session to keep with. The specification is zeroed, and stays as long as the session.
Client* open_to_keep(FragmentSpec* spec);

// How much is kept: all that can be, what scans would make, or of chunks that are there what has changed.
enum class Thoroughness : uint8 { Everything, AsScans, Patches };

// Keeps what is not kept of a chunk's columns, of a table of so many blocks. kept: blocks of the chunk that
// are in the end. False where there is no room.
bool keep_chunk(KeptMaker* maker, Client* client, Relation relation, const KeptColumns* columns, uint32 chunk,
                uint64 blocks, Thoroughness thoroughness, uint64* kept);

}  // namespace gpujoin
