// Kept columns, as a backend asks the server for them within its session (wire/kept.h).
#pragma once

#include "pg/client/client.h"

namespace gpujoin {

// Of so many chunks of a table, from this one on.
void client_find_kept(Client* client, const ChunkKey* first, uint32 count,
                      std::span<const ChunkColumn> columns, FoundChunk* found);
// About how large one will be.
struct ExpectedChunk {
    uint32_t rows;
    uint64_t bytes;
};

// A handle to fill a chunk under; 0: there is no room, or somebody else fills it.
uint32_t client_make_kept(Client* client, const ChunkKey* chunk, ExpectedChunk expected,
                          std::span<const ChunkColumn> columns);
// Sends the batch in a taken block, which is the server's until it answers. body: all but the block.
void client_append_kept(Client* client, const Block* block, AppendKeptBody body,
                        std::span<const ColumnBuffers> columns);
// The chunk is complete, proven for the blocks of the map; nullptr: it is given up. False where it is not
// kept.
bool client_seal_kept(Client* client, uint32_t handle, const ChunkProof& proof, const ChunkMap* map);
// Proves a chunk that was found anew, for those of its blocks that are in the map.
void client_renew_kept(Client* client, const RenewKeptBody& body);

// Rows of found chunks: those that meet the conditions.
struct KeptScanView {
    std::span<const KeptCondition> conditions;
    std::span<const ScannedChunk> chunks;  // kMaxScannedChunks at most
};
// Probes with them. The sequence number of the results.
uint64_t client_probe_kept(Client* client, const KeptScanView* scan);
// Appends them to a stage's build side, and waits for that. How many there are.
uint64_t client_build_kept(Client* client, uint32_t stage, const KeptScanView* scan);

}  // namespace gpujoin
