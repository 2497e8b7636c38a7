// See kept_proof.h.
#include "pg/executor/kept_proof.h"

#include "pg/compat.h"

extern "C" {
#include "access/parallel.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kBlocksOfByte = BITS_PER_BYTE / BITS_PER_HEAPBLOCK;
static_assert(BITS_PER_HEAPBLOCK == 2 && VISIBILITYMAP_ALL_VISIBLE == 1);
static_assert(kChunkBlocks % BITS_PER_BYTE == 0);

// The lower bits of eight pairs, side by side.
uint8 lower_bits(uint32 pairs) {
    pairs &= 0x5555;
    pairs = (pairs | pairs >> 1) & 0x3333;
    pairs = (pairs | pairs >> 2) & 0x0f0f;
    return static_cast<uint8>(pairs | pairs >> 4);
}

// One bit of the map's two is wanted.
void take_bits(const uint8* bytes, ChunkMap* map) {
    for (uint32 i = 0; i < kChunkMapBytes; i++)
        map->bits[i] = lower_bits(bytes[2 * i] | static_cast<uint32>(bytes[2 * i + 1]) << 8);
}

}  // namespace

uint64 count_blocks(const ChunkMap& map) {
    uint64 count = 0;
    for (uint8 bits : map.bits) count += static_cast<uint64>(__builtin_popcount(bits));
    return count;
}

ChunkMap common_blocks(const ChunkMap& a, const ChunkMap& b) {
    ChunkMap map;
    for (uint32 i = 0; i < kChunkMapBytes; i++) map.bits[i] = a.bits[i] & b.bits[i];
    return map;
}

ChunkMap other_blocks(const ChunkMap& a, const ChunkMap& b) {
    ChunkMap map;
    for (uint32 i = 0; i < kChunkMapBytes; i++) map.bits[i] = a.bits[i] & static_cast<uint8>(~b.bits[i]);
    return map;
}

bool contains(const ChunkMap& outer, const ChunkMap& inner) {
    for (uint32 i = 0; i < kChunkMapBytes; i++)
        if (inner.bits[i] & ~outer.bits[i]) return false;
    return true;
}

// visibilitymap_pin() would make pages that are missing.
bool read_map_page(Relation relation, uint32 chunk, MapPage* page) {
    Buffer buffer = InvalidBuffer;
    visibilitymap_get_status(relation, chunk * kChunkBlocks, &buffer);
    if (!BufferIsValid(buffer)) return false;
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page bytes = gpujoin_buffer_page(buffer);
    page->version = PageGetLSN(bytes);
    const auto* bits = reinterpret_cast<const uint8*>(PageGetContents(bytes));
    take_bits(bits + chunk % kChunksOfMapPage * (kChunkBlocks / kBlocksOfByte), &page->map);
    UnlockReleaseBuffer(buffer);
    return page->version != 0;
}

BufferAccessStrategy scan_strategy(Relation relation) {
    const bool is_large = RelationGetNumberOfBlocks(relation) > static_cast<BlockNumber>(NBuffers) / 4;
    return is_large ? GetAccessStrategy(BAS_BULKREAD) : nullptr;
}

uint64 log_position() {
    return GetXLogInsertRecPtr();
}

// Where files may be copied without being logged (wal_level = minimal), pages of another table may come by
// this one's numbers.
ChunkMap unchanged_blocks(Relation relation, uint32 chunk, const ChunkMap& blocks, uint64 since,
                          uint64 may_change) {
    BufferAccessStrategy strategy = scan_strategy(relation);
    ChunkMap unchanged = {};
    if (!XLogIsNeeded()) return unchanged;
    uint64 changed_blocks = 0;
    Buffer last = InvalidBuffer;
    for (uint32 block = 0; block < kChunkBlocks && changed_blocks <= may_change; block++) {
        if (!blocks.has(block)) continue;
        CHECK_FOR_INTERRUPTS();
        const BlockNumber number = chunk * kChunkBlocks + block;
        Buffer buffer = pin_block(relation, strategy, number, guess_buffer(last, number));
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        const XLogRecPtr changed = BufferGetLSNAtomic(buffer);
        UnlockReleaseBuffer(buffer);
        if (!XLogRecPtrIsInvalid(changed) && changed <= since)
            unchanged.add(block);
        else
            changed_blocks++;
        last = buffer;
    }
    if (strategy) FreeAccessStrategy(strategy);
    return unchanged;
}

// Who has the strongest lock may have changed what a column is, and may take that back. A serializable
// transaction is to meet those that write what it reads: they look for readers' predicate locks, then clear
// the bit, all under the lock of the heap page. Who reads the map only may come in between, unseen.
bool may_use_kept_columns(Relation relation, const EState* estate) {
    return kKeepsColumns && relation->rd_rel->relkind == RELKIND_RELATION &&
           relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT && RelationNeedsWAL(relation) &&
           !IsCatalogRelation(relation) && !is_new_in_transaction(relation) &&
           !CheckRelationLockedByMe(relation, AccessExclusiveLock, true) && !RecoveryInProgress() &&
           !may_lack_old_rows() && !IsParallelWorker() && !IsolationIsSerializable() && estate->es_snapshot &&
           IsMVCCSnapshot(estate->es_snapshot) && !estate->es_snapshot->takenDuringRecovery;
}

ChunkKey chunk_key(Relation relation, uint32 chunk) {
    RelationFiles files = relation_files(relation);
    return {files.database, files.tablespace, files.number, chunk};
}

}  // namespace gpujoin
