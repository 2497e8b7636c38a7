// See keeping.h.
#include "pg/executor/keeping.h"

#include "pg/compat.h"
#include "pg/executor/kept_lookup.h"

extern "C" {
#include "executor/executor.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

namespace {

constexpr int kAttempts = 3;  // to make a chunk of a table that is being vacuumed

// Of what has changed since a usable chunk was made, or was marked only afterwards, as far as it is settled.
// The blocks that are kept in the end.
uint64 keep_patch(KeptMaker* maker, Client* client, uint32 chunk, BlockNumber blocks,
                  const FoundProof* proof) {
    const ChunkMap proven = proven_blocks(proof);
    ChunkMap settled = {};
    if (may_patch() && count_blocks(unpatched_blocks(proof, chunk, blocks)) >= kFewestPatched &&
        make_patch(maker, client, chunk, other_blocks(blocks_of_chunk(chunk, blocks), proven), proof->patch,
                   proof->patched, &settled))
        return count_blocks(all_blocks(proven, settled));
    return count_blocks(kept_blocks(proof));
}

}  // namespace

bool may_keep_now(Relation relation) {
    EState* estate = CreateExecutorState();
    estate->es_snapshot = GetActiveSnapshot();
    const bool may = may_use_kept_columns(relation, estate);
    FreeExecutorState(estate);
    return may;
}

// It needs a fragment: this one counts rows, of which none come.
Client* open_to_keep(FragmentSpec* spec) {
    spec->sink = SinkKind::Groups;
    spec->aggregates = 1;
    spec->aggregate[0] = {AggregateFunction::Count, 0, kNoNumber, kNoNumber};
    spec->estimated_groups = 1;
    const FragmentView fragment = {spec, {}};
    return client_open(CurrentMemoryContext, &fragment, 0, nullptr);
}

bool keep_chunk(KeptMaker* maker, Client* client, Relation relation, const KeptColumns* columns, uint32 chunk,
                uint64 blocks, Thoroughness thoroughness, uint64* kept) {
    const std::span<const ChunkColumn> wanted(columns->columns, columns->count);
    uint64 lacked = 0;        // what still lacks after it was made cannot be kept
    bool has_joined = false;  // other columns, which would go if it were made again of more blocks
    *kept = 0;
    for (int attempt = 0;; attempt++) {
        FoundProof proof;
        look_up_chunks(relation, client, wanted, {chunk, 1, static_cast<BlockNumber>(blocks), true}, &proof);
        const bool is_thorough = thoroughness == Thoroughness::Everything;
        if (thoroughness == Thoroughness::Patches) {
            if (proof.is_usable)
                *kept = keep_patch(maker, client, chunk, static_cast<BlockNumber>(blocks), &proof);
            return true;
        }
        if (!proof.is_proven || count_blocks(proof.page.map) == 0) return true;
        if (!proof.is_usable && !is_thorough && !is_worth_making(chunk, blocks, &proof.page)) return true;
        const bool is_enough = proof.is_usable && (has_joined || (!is_thorough && !lacks_blocks(&proof)));
        const uint64 lacks = is_enough ? 0 : proof.is_usable ? count_lacking_blocks(&proof) : blocks;
        if (proof.is_usable && (lacks == 0 || lacks == lacked || attempt == kAttempts)) {
            *kept = is_thorough ? keep_patch(maker, client, chunk, static_cast<BlockNumber>(blocks), &proof)
                                : count_blocks(kept_blocks(&proof));
            return true;
        }
        if (attempt == kAttempts) return false;
        lacked = lacks;
        has_joined = !proof.is_usable && proof.chunk.exists;
        make_chunk(maker, client, chunk, proof.page, proof.chunk);
    }
}

}  // namespace gpujoin
