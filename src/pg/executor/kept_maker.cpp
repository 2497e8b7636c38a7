// Rows are read as sequential scans read those of pages whose rows are all visible, and encoded as they are
// for joins, but all of them, and in the order of the blocks. A batch ends with a block's last row. What
// proves a block: docs/design.md, Kept columns.
#include "pg/executor/kept_maker.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/encoders.h"
#include "pg/executor/heap_deform.h"
#include "pg/vacuum_ends.h"

extern "C" {
#include "access/heapam.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kBlocksOfBatch = 8192;  // the most whose numbers of rows have a place in a block of memory
constexpr uint64 kBytesForBlocks = kBlocksOfBatch * sizeof(uint16);

}  // namespace

struct KeptMaker {
    Relation relation;
    const KeptColumns* kept;
    BufferAccessStrategy strategy;
    Buffer last;  // that was read, and is not pinned any more
    ExprContext* context;
    HeapDeformer* deformer;
    RowSet rows;  // of a page
    const Datum** values;
    const bool** nulls;
    bool* has_nulls;

    // The chunk that is made.
    Client* client;
    uint32 handle;
    uint32 first_block_of_chunk;
    ChunkColumn* columns;
    BatchWriter writer;
    Block memory;  // that a batch is being written to
    bool is_writing;
    bool is_refused;     // the session was refused memory: it is over
    uint32 first_block;  // of the batch, in the chunk
    uint32 blocks;
    uint16* block_rows;
    ChunkMap left_out;
    TransactionId horizon;  // of a patch; invalid: blocks have to be marked as visible to all
    uint64* positions;      // of a patch's pages in the log of changes, when they were read
};

namespace {

Bitmapset* attributes_of(const KeptColumns* columns) {
    Bitmapset* attributes = nullptr;
    for (int i = 0; i < columns->count; i++) attributes = attributes_of_form(&columns->forms[i], attributes);
    return attributes;
}

void init_rows(KeptMaker* maker) {
    int attributes = RelationGetNumberOfAttributes(maker->relation);
    maker->values = zeroed<const Datum*>(attributes + 1);
    maker->nulls = zeroed<const bool*>(attributes + 1);
    maker->has_nulls = zeroed<bool>(attributes + 1);
    TupleTableSlot* slot =
        MakeTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(maker->relation)), &TTSOpsVirtual);
    memset(slot->tts_isnull, true, attributes);
    ExecStoreVirtualTuple(slot);
    maker->rows = {0, maker->values, maker->nulls, maker->has_nulls, slot, attributes};
}

InputColumn input_column(const KeptForm* form) {
    InputColumn column = {};
    column.spec = form->spec;
    column.spec.nullable = 1;
    column.encoder = form->encoder;
    column.attribute = form->attribute;
    if (form->expression)
        column.expression = ExecInitExpr(reinterpret_cast<Expr*>(form->expression), nullptr);
    column.type_length = form->type_length;
    column.scale = form->scale;
    return column;
}

// The writer for the wanted columns. Its averages are those of the chunk before.
void choose_columns(KeptMaker* maker, const bool* wanted) {
    BatchWriter* writer = &maker->writer;
    writer->column_count = 0;
    writer->allocates = writer->evaluates = false;
    for (int i = 0; i < maker->kept->count; i++) {
        if (!wanted[i]) continue;
        const KeptForm* form = &maker->kept->forms[i];
        maker->columns[writer->column_count] = maker->kept->columns[i];
        writer->columns[writer->column_count++] = input_column(form);
        writer->evaluates |= form->expression != nullptr;
        writer->allocates |= !form->encoder.put_rows || form->expression;
    }
    batch_writer_reset(writer);
}

// Behind the rows' columns there is room for the blocks' numbers of rows.
bool begin_batch(KeptMaker* maker, uint32 block) {
    BatchWriter* writer = &maker->writer;
    if (!client_take_block(maker->client, 0, true, &maker->memory)) {
        if (!client_refusal(maker->client)) elog(ERROR, "no block is left for rows that are kept");
        maker->is_refused = true;
        return false;
    }
    writer->spare = maker->memory;
    writer->spare.bytes = (maker->memory.bytes - kBytesForBlocks) & ~(kBufferAlignment - 1);
    writer->has_spare = true;
    batch_begin(writer, maker->client, kTargetBatchRows);
    maker->block_rows = reinterpret_cast<uint16*>(maker->memory.memory + writer->block.bytes);
    maker->first_block = block;
    maker->blocks = 0;
    maker->is_writing = true;
    return true;
}

void send_batch(KeptMaker* maker) {
    BatchWriter* writer = &maker->writer;
    if (!maker->is_writing) return;
    maker->is_writing = false;
    batch_finish(writer);
    AppendKeptBody body = {};
    body.rows = writer->rows;
    body.handle = maker->handle;
    body.first_block = maker->first_block;
    body.blocks = maker->blocks;
    body.block_rows = writer->block.bytes;
    client_append_kept(maker->client, &maker->memory, body,
                       {writer->buffers, static_cast<size_t>(writer->column_count)});
}

// Adds the rows of a page, all or none. False when there is no room for them all.
bool add_rows(KeptMaker* maker) {
    BatchWriter* writer = &maker->writer;
    uint32 before = writer->rows;
    uint32 rows = maker->rows.rows;
    if (writer->capacity - before < rows) return false;
    if (rows == 0 || batch_add_rows(writer, &maker->rows, rows) == rows) return true;
    writer->rows = before;
    return false;
}

// The block, and those before it that have no rows here, belong to the batch.
void count_block(KeptMaker* maker, uint32 block, uint32 rows) {
    while (maker->first_block + maker->blocks < block) maker->block_rows[maker->blocks++] = 0;
    maker->block_rows[maker->blocks++] = static_cast<uint16>(rows);
}

// Forgets what was written of rows that did not fit; of a batch that has none.
void begin_afresh(BatchWriter* writer) {
    Assert(writer->rows == 0);
    for (int i = 0; i < writer->column_count; i++) {
        writer->columns[i].has_nulls = false;
        memset(writer->columns[i].validity, 0xff, validity_bytes(writer->capacity));
    }
}

// A page whose rows do not fit into a batch of their own is left to be read from the table.
void add_page(KeptMaker* maker, uint32 block) {
    bool is_far = maker->is_writing && block - maker->first_block >= kBlocksOfBatch;
    if (is_far) send_batch(maker);
    bool is_fresh = !maker->is_writing;
    if (is_fresh && !begin_batch(maker, block)) return;
    bool added = add_rows(maker);
    if (!added && !is_fresh) {
        send_batch(maker);
        if (!begin_batch(maker, block)) return;
        added = add_rows(maker);
    }
    if (!added) {
        begin_afresh(&maker->writer);
        maker->left_out.add(block);
    }
    count_block(maker, block, added ? maker->rows.rows : 0);
}

void show_rows(KeptMaker* maker, uint32 rows) {
    maker->rows.rows = rows;
    for (int i = 0; i < maker->deformer->column_count; i++) {
        const HeapColumn* column = &maker->deformer->columns[i];
        maker->values[column->attribute - 1] = column->values;
        maker->nulls[column->attribute - 1] = column->nulls;
        maker->has_nulls[column->attribute - 1] = column->has_nulls;
    }
}

// Lists the rows that are kept of a page, which is locked; -1 where it is to be left out. The map's bit alone
// does not do: the page says itself whether all its rows are visible. For a patch its rows say so.
int list_tuples(KeptMaker* maker, Buffer buffer, uint32 block, OffsetNumber* lines) {
    Page page = gpujoin_buffer_page(buffer);
    if (!TransactionIdIsValid(maker->horizon))
        return PageIsAllVisible(page) ? list_all_tuples(page, lines) : -1;
    const int count = list_settled_tuples(maker->relation, buffer, maker->horizon, lines);
    maker->positions[block] = BufferGetLSNAtomic(buffer);  // hints for rows that were looked at may move it
    return count;
}

void read_block(KeptMaker* maker, uint32 block) {
    CHECK_FOR_INTERRUPTS();
    BlockNumber number = maker->first_block_of_chunk + block;
    Buffer buffer = pin_block(maker->relation, maker->strategy, number, guess_buffer(maker->last, number));
    Buffer ahead = guess_buffer(buffer, number + 1);
    const char* page_ahead = BufferIsValid(ahead) ? gpujoin_buffer_page(ahead) : nullptr;
    // As scans do, before which the page would not stay as it is for long.
    if (TransactionIdIsValid(maker->horizon)) heap_page_prune_opt(maker->relation, buffer);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = gpujoin_buffer_page(buffer);
    OffsetNumber lines[MaxHeapTuplesPerPage];
    HeapTupleHeader tuples[MaxHeapTuplesPerPage];
    const int count = list_tuples(maker, buffer, block, lines);
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    for (int i = 0; i < count; i++)
        tuples[i] = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, PageGetItemId(page, lines[i])));
    if (count >= 0) {
        heap_prefetch(page_ahead, page, tuples, static_cast<uint32>(count), false);
        heap_deform(maker->deformer, tuples, static_cast<uint32>(count));
        heap_prefetch(page_ahead, page, tuples, static_cast<uint32>(count), true);
        show_rows(maker, static_cast<uint32>(count));
        add_page(maker, block);
    } else {
        maker->left_out.add(block);
    }
    maker->last = buffer;
    ReleaseBuffer(buffer);
}

// What is proven, and by what. If the map has another version meanwhile, its bits may have been set again,
// if the table was vacuumed: then pages are looked at.
bool find_proven(const KeptMaker* maker, uint32 chunk, const MapPage* before, ChunkProof* proof,
                 ChunkMap* proven) {
    MapPage after;
    if (!read_map_page(maker->relation, chunk, &after)) return false;
    *proven = other_blocks(common_blocks(before->map, after.map), maker->left_out);
    if (after.version != before->version && unvacuumed_since(maker->relation) > proof->since)
        *proven =
            unchanged_blocks(maker->relation, chunk, *proven, proof->since, {kChunkBlocks, kChunkBlocks});
    proof->version = after.version;
    return count_blocks(*proven) > 0;
}

ExpectedChunk expected_size(const KeptMaker* maker, const ChunkMap& blocks) {
    uint64 width = 0;
    for (int i = 0; i < maker->writer.column_count; i++) {
        const InputColumn* column = &maker->writer.columns[i];
        width += expected_width(maker->relation, column->spec, column->attribute);
    }
    const double rows = expected_rows(maker->relation, static_cast<double>(count_blocks(blocks)));
    return {static_cast<uint32>(Min(rows, double{PG_UINT32_MAX})), static_cast<uint64>(rows) * width};
}

// Missing columns join those that are there, of blocks that are the same still, unless too many that could be
// kept would be left out.
bool may_join(const FoundChunk& found, const ChunkMap& same, const ChunkMap& could_be_kept) {
    constexpr uint64 kShareLeftOut = 8;
    return found.exists && found.handle == 0 &&
           kShareLeftOut * count_blocks(other_blocks(could_be_kept, same)) <= count_blocks(could_be_kept);
}

// Of a chunk that is found, the columns that are missing; or all of them, where they cannot join the others.
void choose_missing(KeptMaker* maker, const FoundChunk& found, bool joins) {
    bool wanted[kMaxKeptColumns];
    for (int i = 0; i < maker->kept->count; i++) wanted[i] = !joins || !(found.has[i / 8] >> (i % 8) & 1);
    choose_columns(maker, wanted);
}

// Sends the chosen columns of the blocks' rows. False where there is no room for them.
bool send_blocks(KeptMaker* maker, Client* client, const ChunkKey& key, const ChunkMap& blocks) {
    std::span<const ChunkColumn> columns(maker->columns, maker->writer.column_count);
    maker->client = client;
    maker->is_writing = maker->is_refused = false;
    maker->left_out = {};
    maker->handle = client_make_kept(client, &key, expected_size(maker, blocks), columns);
    if (maker->handle == 0) return false;
    for (uint32 block = 0; block < kChunkBlocks && !maker->is_refused; block++)
        if (blocks.has(block)) read_block(maker, block);
    if (maker->is_refused) return false;
    send_batch(maker);
    return true;
}

}  // namespace

KeptMaker* make_kept_maker(Relation relation, const KeptColumns* columns) {
    auto* maker = zeroed<KeptMaker>();
    maker->relation = relation;
    maker->kept = columns;
    maker->strategy = scan_strategy(relation);
    maker->deformer = heap_deformer_create(RelationGetDescr(relation), attributes_of(columns));
    maker->columns = zeroed<ChunkColumn>(columns->count + 1);
    maker->writer.columns = zeroed<InputColumn>(columns->count + 1);
    maker->writer.buffers = zeroed<ColumnBuffers>(columns->count + 1);
    maker->writer.context = CreateStandaloneExprContext();
    init_rows(maker);
    return maker;
}

bool make_chunk(KeptMaker* maker, Client* client, uint32 chunk, MapPage page, const FoundChunk& found) {
    const ChunkMap same = common_blocks(page.map, found.map);
    const bool joins = found.proof.version == page.version && may_join(found, same, page.map);
    if (joins) page.map = same;
    ChunkProof proof = {page.version, log_position()};
    choose_missing(maker, found, joins);
    maker->horizon = InvalidTransactionId;
    maker->first_block_of_chunk = chunk * kChunkBlocks;
    if (!send_blocks(maker, client, chunk_key(maker->relation, chunk), page.map)) return false;
    ChunkMap proven;
    bool is_proven = find_proven(maker, chunk, &page, &proof, &proven);
    return client_seal_kept(client, maker->handle, proof, is_proven ? &proven : nullptr);
}

// What has not changed from when it was read until it is looked at again had not changed when the log had
// come as far as it has before that.
bool make_patch(KeptMaker* maker, Client* client, uint32 chunk, ChunkMap blocks, const FoundChunk& found,
                const ChunkMap& unchanged, ChunkMap* settled) {
    const bool joins = may_join(found, unchanged, blocks);
    if (joins) blocks = unchanged;
    choose_missing(maker, found, joins);
    if (!maker->positions) maker->positions = zeroed<uint64>(kChunkBlocks);
    maker->horizon = GetOldestNonRemovableTransactionId(maker->relation);
    maker->first_block_of_chunk = chunk * kChunkBlocks;
    if (!send_blocks(maker, client, chunk_key(maker->relation, chunk).patch(), blocks)) return false;
    const ChunkProof proof = {kPatchVersion, log_position()};
    *settled =
        blocks_left_alone(maker->relation, chunk, other_blocks(blocks, maker->left_out), maker->positions);
    const bool is_proven = count_blocks(*settled) > 0;
    return client_seal_kept(client, maker->handle, proof, is_proven ? settled : nullptr);
}

}  // namespace gpujoin
