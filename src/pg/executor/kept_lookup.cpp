// See kept_lookup.h.
#include "pg/executor/kept_lookup.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/vacuum_ends.h"

namespace gpujoin {

namespace {

constexpr uint64 kLackingShare = 64;  // that a chunk lacks at least of what could be kept, or it stays
constexpr uint64 kUnreadShare = 64;   // of a chunk's blocks that is read at most to prove it for a query
constexpr uint64 kPatchShare = 8;     // of a chunk's blocks that a patch has at most, or they had better join

bool is_current(const FoundProof* proof) {
    return proof->chunk.exists && proof->chunk.proof.version == proof->page.version;
}

// What renewals of one look-up have in common.
struct Renewing {
    Relation relation;
    Client* client;
    uint64 may_read;
    uint64 now;         // how far the log of changes had come before the maps were read
    uint64 unvacuumed;  // unvacuumed_since() after that, where any chunk is to be renewed
};

// Where less than half of what could be kept is left, it had better be made again.
void renew(const Renewing& with, uint32 number, FoundProof* proof) {
    FoundChunk* chunk = &proof->chunk;
    const ChunkMap kept = proven_blocks(proof);
    const uint64 enough = (count_blocks(proof->page.map) + 1) / 2;
    if (count_blocks(kept) < enough) return;
    const uint64 may_change = count_blocks(kept) - enough;
    const ChunkMap unchanged =
        with.unvacuumed <= chunk->proof.since
            ? kept
            : unchanged_blocks(with.relation, number, kept, chunk->proof.since, {may_change, with.may_read});
    if (count_blocks(unchanged) < enough) return;
    const ChunkProof renewed = {proof->page.version, with.now};
    const RenewKeptBody body = {
        chunk_key(with.relation, number), chunk->proof.version, renewed, unchanged, {}};
    client_renew_kept(with.client, body);
    chunk->proof = renewed;
    chunk->map = unchanged;
}

bool may_be_patched(const FoundProof* proof, uint32 chunk, BlockNumber blocks) {
    if (!proof->is_usable) return false;
    const ChunkMap others = other_blocks(blocks_of_chunk(chunk, blocks), proven_blocks(proof));
    return count_blocks(others) >= kFewestPatched;
}

void look_at_patch(const Renewing& with, uint32 chunk, const ChunkRange& range, FoundProof* proof) {
    const ChunkMap known = common_blocks(proof->patch.map, blocks_of_chunk(chunk, range.blocks));
    const ChunkMap needed = other_blocks(known, proven_blocks(proof));
    const uint64 since = proof->patch.proof.since;
    if (range.reads) {
        proof->patched = unchanged_blocks(with.relation, chunk, needed, since, {kChunkBlocks, kChunkBlocks});
        return;
    }
    const BufferedBlocks found = look_at_buffered(with.relation, chunk, needed, since);
    proof->patched = found.unchanged;
    proof->unread = found.unread;
}

// Of chunks of which some blocks are not proven. Each page says whether it has changed.
void look_up_patches(const Renewing& with, std::span<const ChunkColumn> columns, const ChunkRange& range,
                     FoundProof* proofs) {
    bool has_any = false;
    for (uint32 i = 0; i < range.count; i++) {
        proofs[i].patch = {};
        proofs[i].patched = proofs[i].unread = {};
        has_any |= may_be_patched(&proofs[i], range.first + i, range.blocks);
    }
    if (!has_any || !may_patch() || client_refusal(with.client)) return;
    const ChunkKey key = chunk_key(with.relation, range.first).patch();
    auto* found = unset<FoundChunk>(range.count);
    client_find_kept(with.client, &key, range.count, columns, found);
    for (uint32 i = 0; i < range.count; i++) {
        FoundProof* proof = &proofs[i];
        // Only who makes patches wants to know of one that lacks columns.
        if (!proof->is_usable || !found[i].exists || (found[i].handle == 0 && !range.reads)) continue;
        proof->patch = found[i];
        look_at_patch(with, range.first + i, range, proof);
    }
    pfree(found);
}

}  // namespace

void look_up_chunks(Relation relation, Client* client, std::span<const ChunkColumn> columns,
                    const ChunkRange& range, FoundProof* proofs) {
    const auto [first, count, blocks, reads] = range;
    const uint64 may_read = reads ? kChunkBlocks : kChunkBlocks / kUnreadShare;
    ChunkKey key = chunk_key(relation, first);
    auto* found = unset<FoundChunk>(count);
    watch_vacuums(relation);
    Renewing with = {relation, client, may_read, log_position(), 0};
    for (uint32 i = 0; i < count; i++) {
        MapPage* page = &proofs[i].page;
        proofs[i].is_proven = read_map_page(relation, first + i, page);
        page->map = common_blocks(page->map, blocks_of_chunk(first + i, blocks));
    }
    client_find_kept(client, &key, count, columns, found);
    bool has_asked = false;
    for (uint32 i = 0; i < count; i++) {
        FoundProof* proof = &proofs[i];
        proof->chunk = found[i];
        const bool is_outdated = proof->is_proven && proof->chunk.exists && !is_current(proof);
        if (is_outdated && !has_asked) with.unvacuumed = unvacuumed_since(relation);
        has_asked |= is_outdated;
        if (is_outdated) renew(with, first + i, proof);
        proof->is_usable = proof->is_proven && proof->chunk.handle != 0 && is_current(proof);
    }
    pfree(found);
    look_up_patches(with, columns, range, proofs);
}

ChunkMap proven_blocks(const FoundProof* proof) {
    return common_blocks(proof->chunk.map, proof->page.map);
}

ChunkMap kept_blocks(const FoundProof* proof) {
    const ChunkMap proven = proven_blocks(proof);
    return proof->is_patched() ? all_blocks(proven, proof->patched) : proven;
}

ChunkMap unpatched_blocks(const FoundProof* proof, uint32 chunk, BlockNumber blocks) {
    if (!proof->is_usable) return {};
    const ChunkMap unkept = other_blocks(blocks_of_chunk(chunk, blocks), kept_blocks(proof));
    return proof->is_patched() ? other_blocks(unkept, proof->unread) : unkept;
}

// What a large patch has is lacking still.
uint64 count_lacking_blocks(const FoundProof* proof) {
    const ChunkMap lacking = other_blocks(proof->page.map, proof->chunk.map);
    const bool is_small = kPatchShare * count_blocks(proof->patched) <= kChunkBlocks;
    return count_blocks(proof->is_patched() && is_small ? other_blocks(lacking, proof->patched) : lacking);
}

bool lacks_blocks(const FoundProof* proof) {
    const uint64 lacking = count_lacking_blocks(proof);
    return lacking > 0 && kLackingShare * lacking >= count_blocks(proof->page.map);
}

bool is_worth_making(uint32 chunk, uint64 blocks, const MapPage* page) {
    const uint64 of_chunk = Min(blocks - uint64{chunk} * kChunkBlocks, uint64{kChunkBlocks});
    return 2 * count_blocks(page->map) >= of_chunk;
}

}  // namespace gpujoin
