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
    return client_open(CurrentMemoryContext, &fragment, nullptr);
}

bool keep_chunk(KeptMaker* maker, Client* client, Relation relation, const KeptColumns* columns, uint32 chunk,
                uint64 blocks, Thoroughness thoroughness, uint64* kept) {
    const std::span<const ChunkColumn> wanted(columns->columns, columns->count);
    uint64 lacked = 0;  // what still lacks after it was made cannot be kept
    *kept = 0;
    for (int attempt = 0;; attempt++) {
        FoundProof proof;
        look_up_chunks(relation, client, wanted, {chunk, 1, static_cast<BlockNumber>(blocks), true}, &proof);
        if (!proof.is_proven || count_blocks(proof.page.map) == 0) return true;
        const bool is_thorough = thoroughness == Thoroughness::Everything;
        if (!proof.is_usable && !is_thorough && !is_worth_making(chunk, blocks, &proof.page)) return true;
        const bool is_enough = proof.is_usable && !is_thorough && !lacks_blocks(&proof);
        const uint64 lacks = is_enough ? 0 : proof.is_usable ? count_lacking_blocks(&proof) : blocks;
        if (proof.is_usable && (lacks == 0 || lacks == lacked || attempt == kAttempts)) {
            *kept = count_blocks(proven_blocks(&proof));
            return true;
        }
        if (attempt == kAttempts) return false;
        lacked = lacks;
        make_chunk(maker, client, chunk, proof.page, proof.chunk);
    }
}

}  // namespace gpujoin
