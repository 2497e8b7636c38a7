// See kept_proof.h.
#include "pg/kept_proof.h"

#include <bit>
#include <cstring>

#include "pg/compat.h"

extern "C" {
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/catalog.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kBlocksOfByte = BITS_PER_BYTE / BITS_PER_HEAPBLOCK;
static_assert(BITS_PER_HEAPBLOCK == 2 && VISIBILITYMAP_ALL_VISIBLE == 1);
static_assert(kChunkBlocks % BITS_PER_BYTE == 0);

// A scan looks at maps of hundreds of chunks: word by word.
constexpr uint32 kWordBytes = sizeof(uint64);
constexpr uint32 kTail = kChunkMapBytes / kWordBytes * kWordBytes;

static_assert(std::endian::native == std::endian::little, "bits of a word are those of its bytes in turn");

uint64 load_word(const uint8* bytes, uint32 size) {
    uint64 word = 0;
    memcpy(&word, bytes, size);
    return word;
}

// The last word has fewer bytes.
template <typename Combine>
ChunkMap combine(const ChunkMap& a, const ChunkMap& b, const Combine& combine) {
    ChunkMap map;
    auto combine_word = [&](uint32 at, uint32 size) {
        const uint64 word = combine(load_word(a.bits + at, size), load_word(b.bits + at, size));
        memcpy(map.bits + at, &word, size);
    };
    for (uint32 at = 0; at < kTail; at += kWordBytes) combine_word(at, kWordBytes);
    combine_word(kTail, kChunkMapBytes - kTail);
    return map;
}

// The lower bits of 32 pairs, side by side.
uint32 lower_bits(uint64 pairs) {
    pairs &= 0x5555555555555555;
    pairs = (pairs | pairs >> 1) & 0x3333333333333333;
    pairs = (pairs | pairs >> 2) & 0x0f0f0f0f0f0f0f0f;
    pairs = (pairs | pairs >> 4) & 0x00ff00ff00ff00ff;
    pairs = (pairs | pairs >> 8) & 0x0000ffff0000ffff;
    return static_cast<uint32>(pairs | pairs >> 16);
}

// One bit of the map's two is wanted.
void take_bits(const uint8* bytes, ChunkMap* map) {
    constexpr uint32 kHalf = kWordBytes / BITS_PER_HEAPBLOCK;
    for (uint32 at = 0; at < kChunkMapBytes; at += kHalf) {
        const uint32 size = Min(kHalf, kChunkMapBytes - at);
        const uint32 bits = lower_bits(load_word(bytes + 2 * at, 2 * size));
        memcpy(map->bits + at, &bits, size);
    }
}

}  // namespace

uint64 count_blocks(const ChunkMap& map) {
    return pg_popcount(reinterpret_cast<const char*>(map.bits), kChunkMapBytes);
}

ChunkMap all_blocks(const ChunkMap& a, const ChunkMap& b) {
    return combine(a, b, [](uint64 x, uint64 y) { return x | y; });
}

ChunkMap common_blocks(const ChunkMap& a, const ChunkMap& b) {
    return combine(a, b, [](uint64 x, uint64 y) { return x & y; });
}

ChunkMap other_blocks(const ChunkMap& a, const ChunkMap& b) {
    return combine(a, b, [](uint64 x, uint64 y) { return x & ~y; });
}

ChunkMap blocks_of_chunk(uint32 chunk, BlockNumber blocks) {
    ChunkMap map = {};
    const uint64 first = uint64{chunk} * kChunkBlocks;
    const uint64 count = blocks > first ? Min(blocks - first, uint64{kChunkBlocks}) : 0;
    memset(map.bits, 0xff, count / BITS_PER_BYTE);
    for (uint32 block = count & ~(BITS_PER_BYTE - 1); block < count; block++) map.add(block);
    return map;
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
    return RecoveryInProgress() ? GetXLogReplayRecPtr(nullptr) : GetXLogInsertRecPtr();
}

// Where files may be copied without being logged (wal_level = minimal), pages of another table may come by
// this one's numbers.
bool do_pages_prove() {
    return XLogIsNeeded();
}

bool may_patch() {
    return do_pages_prove() && !RecoveryInProgress();
}

namespace {

// The page is pinned, and is not any more.
uint64 take_position(Buffer buffer) {
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    const XLogRecPtr changed = BufferGetLSNAtomic(buffer);
    UnlockReleaseBuffer(buffer);
    return changed;
}

// Those of a chunk's blocks of which is_same says so, by their numbers and their pages' places in the log.
template <typename IsSame>
ChunkMap same_blocks(Relation relation, uint32 chunk, const ChunkMap& blocks, const ProvingLimits& limits,
                     const IsSame& is_same) {
    ChunkMap same = {};
    if (!do_pages_prove()) return same;
    BufferAccessStrategy strategy = scan_strategy(relation);
    uint64 changed_blocks = 0;
    uint64 read_blocks = 0;
    Buffer last = InvalidBuffer;
    for (uint32 block = 0; block < kChunkBlocks && changed_blocks <= limits.may_change; block++) {
        if (!blocks.has(block)) continue;
        CHECK_FOR_INTERRUPTS();
        const BlockNumber number = chunk * kChunkBlocks + block;
        const Buffer found = find_buffer(relation, last, number);
        if (!BufferIsValid(found) && ++read_blocks > limits.may_read) {
            same = {};
            break;
        }
        last = pin_block(relation, strategy, number, found);
        const uint64 changed = take_position(last);
        if (!XLogRecPtrIsInvalid(changed) && is_same(block, changed))
            same.add(block);
        else
            changed_blocks++;
    }
    if (strategy) FreeAccessStrategy(strategy);
    return same;
}

}  // namespace

BufferedBlocks look_at_buffered(Relation relation, uint32 chunk, const ChunkMap& blocks, uint64 since) {
    BufferedBlocks found = {};
    if (!do_pages_prove()) return found;
    for (uint32 block = 0; block < kChunkBlocks; block++) {
        if (!blocks.has(block)) continue;
        CHECK_FOR_INTERRUPTS();
        const Buffer buffer = pin_if_buffered(relation, chunk * kChunkBlocks + block);
        if (!BufferIsValid(buffer)) {
            found.unread.add(block);
            continue;
        }
        const uint64 changed = take_position(buffer);
        if (!XLogRecPtrIsInvalid(changed) && changed <= since) found.unchanged.add(block);
    }
    return found;
}

ChunkMap unchanged_blocks(Relation relation, uint32 chunk, const ChunkMap& blocks, uint64 since,
                          const ProvingLimits& limits) {
    return same_blocks(relation, chunk, blocks, limits,
                       [since](uint32, XLogRecPtr changed) { return changed <= since; });
}

ChunkMap blocks_left_alone(Relation relation, uint32 chunk, const ChunkMap& blocks, const uint64* positions) {
    return same_blocks(relation, chunk, blocks, {kChunkBlocks, kChunkBlocks},
                       [positions](uint32 block, XLogRecPtr changed) { return changed == positions[block]; });
}

// Of what is visible now, who has made it must be so old that all snapshots see it; who has locked a row does
// not matter, as he stamps the page when he changes it.
int list_settled_tuples(Relation relation, Buffer buffer, TransactionId horizon, OffsetNumber* lines) {
    Page page = gpujoin_buffer_page(buffer);
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    HeapTupleData tuple = {};
    tuple.t_tableOid = RelationGetRelid(relation);
    int count = 0;
    for (OffsetNumber line = FirstOffsetNumber; line <= last; line++) {
        ItemId item = PageGetItemId(page, line);
        if (!ItemIdIsNormal(item)) continue;
        tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        tuple.t_len = ItemIdGetLength(item);
        ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), line);
        const HTSV_Result visibility = HeapTupleSatisfiesVacuum(&tuple, horizon, buffer);
        if (visibility == HEAPTUPLE_DEAD) continue;
        if (visibility != HEAPTUPLE_LIVE || !HeapTupleHeaderXminCommitted(tuple.t_data) ||
            !TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple.t_data), horizon))
            return -1;
        lines[count++] = line;
    }
    return count;
}

// Who has the strongest lock may have changed what a column is, and may take that back. A serializable
// transaction is to meet those that write what it reads: they look for readers' predicate locks, then clear
// the bit, all under the lock of the heap page. Who reads the map only may come in between, unseen. Functions
// of an index that VACUUM calls have a snapshot that other vacuums do not respect. A snapshot that was taken
// in recovery is good as long as that lasts.
bool may_use_kept_columns(Relation relation, const EState* estate) {
    return kKeepsColumns && relation->rd_rel->relkind == RELKIND_RELATION &&
           relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT && RelationNeedsWAL(relation) &&
           !IsCatalogRelation(relation) && !is_new_in_transaction(relation) &&
           !CheckRelationLockedByMe(relation, AccessExclusiveLock, true) && !may_lack_old_rows() &&
           !(MyProc->statusFlags & PROC_IN_VACUUM) && !IsParallelWorker() && !IsolationIsSerializable() &&
           estate->es_snapshot && IsMVCCSnapshot(estate->es_snapshot) &&
           estate->es_snapshot->takenDuringRecovery == RecoveryInProgress();
}

ChunkKey chunk_key(Relation relation, uint32 chunk) {
    RelationFiles files = relation_files(relation);
    return {files.database, files.tablespace, files.number, chunk};
}

uint32 chunks_of_blocks(uint64 blocks) {
    return static_cast<uint32>((blocks + kChunkBlocks - 1) / kChunkBlocks);
}

}  // namespace gpujoin
