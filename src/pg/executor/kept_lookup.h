// Looking chunks of a table up: what the server has of them, and what of that is true still.
#pragma once

#include "pg/client/kept_client.h"
#include "pg/kept_proof.h"

namespace gpujoin {

// A chunk as it is found, with what proves it.
struct FoundProof {
    MapPage page;
    FoundChunk chunk;
    bool is_proven;    // the page proves something
    bool is_usable;    // rows of the chunk, with all columns, may be used: those of proven_blocks()
    FoundChunk patch;  // where the chunk does not prove all blocks; else, and where there is none, zero
    ChunkMap patched;  // blocks of the patch that have not changed, beside proven_blocks()
    ChunkMap unread;   // and those that do not lie in shared buffers, which nobody has looked at

    // Rows of the patch may be used: those of these blocks.
    bool is_patched() const { return is_usable && patch.handle != 0; }
};

// Chunks that are next to each other.
struct ChunkRange {
    uint32 first;
    uint32 count;
    BlockNumber blocks;  // of the table, as far as the caller knows
    bool reads;  // blocks are read to prove that they have not changed, though it takes as long as a scan
};

// Looks them up; map pages first. One that has another version is proven anew where most of its blocks have
// not changed.
void look_up_chunks(Relation relation, Client* client, std::span<const ChunkColumn> columns,
                    const ChunkRange& range, FoundProof* proofs);

// The blocks of a usable chunk whose rows are kept and still true, without those of its patch; and those that
// it has no rows of, nor its patch, though they could be kept.
ChunkMap proven_blocks(const FoundProof* proof);
uint64 count_lacking_blocks(const FoundProof* proof);
// With those of its patch.
ChunkMap kept_blocks(const FoundProof* proof);
// Of a usable chunk of a table of so many blocks, those that neither has, or that have changed; else none.
ChunkMap unpatched_blocks(const FoundProof* proof, uint32 chunk, BlockNumber blocks);
// These are so many that it had better be made again.
bool lacks_blocks(const FoundProof* proof);
// So many blocks that are not kept are worth a patch.
inline constexpr uint64 kFewestPatched = 16;
// Enough of a chunk's blocks could be kept, of a table of so many blocks.
bool is_worth_making(uint32 chunk, uint64 blocks, const MapPage* page);

}  // namespace gpujoin
