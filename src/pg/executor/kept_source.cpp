// See kept_source.h, and docs/design.md, Kept columns, for the order in which things are looked at: the
// snapshot first, then the map.
#include "pg/executor/kept_source.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/kept_columns.h"
#include "pg/executor/kept_conditions.h"
#include "pg/executor/kept_lookup.h"
#include "pg/executor/kept_maker.h"
#include "pg/executor/kept_share.h"
#include "pg/executor/requested_columns.h"
#include "pg/join_statistics.h"
#include "pg/kept_expression.h"
#include "pg/kept_tables.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "access/parallel.h"
#include "executor/executor.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kShareOfChunks = 8;  // that one process takes at once, of those that are left
constexpr uint32 kManyLacking = 4;    // a column is not counted on where more than such a share lacks it

struct UsableChunk {
    uint32 handle;  // 0: it is of no use
    uint64 rows;
    ChunkMap map;
};

// Those that are scanned at once.
struct UsableChunks {
    uint32 count;
    uint32 capacity;
    uint64 rows;
    ScannedChunk* chunks;
};

}  // namespace

struct KeptSource {
    HeapScan* scan;
    const EState* estate;
    MemoryContext context;
    KeptColumns columns;
    KeptConditions* conditions;
    KeptMaker* maker;  // nullptr: not needed so far
    uint32 capacity;   // of the share in dynamic shared memory

    // The current run.
    KeptShare* share;  // nullptr: none (so far)
    bool is_alone;     // it is this process's
    bool is_open;
    bool has_ended;            // there are no more chunks
    const SharedChunk* taken;  // is to be made when all results are received; or nullptr
    uint8* read_too;           // blocks of chunks that could not be made; nullptr: none
    UsableChunks usable;       // the next scan's
    bool has_run;
    KeptFigures figures;
};

namespace {

// Attributes of the child's slot become those of the table.
Node* attribute_mutator(Node* node, void* scan) {
    if (!node) return nullptr;
    if (!IsA(node, Var)) return mutate_expression(node, attribute_mutator, scan);
    const auto* source = static_cast<const HeapScan*>(scan);
    auto* var = static_cast<Var*>(copyObjectImpl(node));
    if (Const* constant = heap_scan_constant(source, var->varattno)) return reinterpret_cast<Node*>(constant);
    var->varattno = heap_scan_attribute(source, var->varattno);
    return reinterpret_cast<Node*>(var);
}

// The expression that is sent, as one over the table; nullptr where there is none.
Node* over_table(HeapScan* scan, const InputColumn* sent) {
    if (sent->attribute > 0) return reinterpret_cast<Node*>(heap_scan_constant(scan, sent->attribute));
    if (!sent->expression) return nullptr;
    return canonical_expression(attribute_mutator(reinterpret_cast<Node*>(sent->expression->expr), scan));
}

bool add_columns(KeptSource* source, const BatchWriter* writer) {
    Relation relation = heap_scan_relation(source->scan);
    int constants = 0;
    for (int i = 0; i < writer->column_count; i++) {
        KeptForm form;
        const InputColumn* sent = &writer->columns[i];
        AttrNumber attribute = sent->attribute > 0 ? heap_scan_attribute(source->scan, sent->attribute) : 0;
        Node* expression = attribute > 0 ? nullptr : over_table(source->scan, sent);
        if (!kept_form(sent, RelationGetDescr(relation), attribute, expression, &form)) return false;
        if (expression && IsA(expression, Const)) form.copy = constants++;
        // The source's come first, in their order.
        if (add_kept_column(&source->columns, relation, &form) != i) return false;
    }
    return true;
}

// Where no column is wanted, as of rows that are only counted: chunks are made of columns, so the narrowest
// one stands for all. By what is declared alone, so that processes that share a scan come to the same.
void add_column_to_count(KeptSource* source) {
    Relation relation = heap_scan_relation(source->scan);
    KeptForm narrowest = {};
    for (int i = 0; i < RelationGetNumberOfAttributes(relation); i++) {
        Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), i);
        KeptForm form;
        if (attribute->attisdropped || !natural_form(attribute, &form)) continue;
        const uint32 width = fixed_width(form.spec.type);
        if (width > 0 && (!narrowest.encoder.put || width < fixed_width(narrowest.spec.type)))
            narrowest = form;
    }
    if (narrowest.encoder.put) add_kept_column(&source->columns, relation, &narrowest);
}

std::span<const ChunkColumn> wanted_columns(const KeptSource* source) {
    return {source->columns.columns, static_cast<size_t>(source->columns.count)};
}

bool make(KeptSource* source, Client* client, uint32 chunk, const MapPage* page, const FoundChunk* found) {
    if (!source->maker) {
        MemoryContext caller = MemoryContextSwitchTo(source->context);
        source->maker = make_kept_maker(heap_scan_relation(source->scan), &source->columns);
        MemoryContextSwitchTo(caller);
    }
    return make_chunk(source->maker, client, chunk, *page, *found);
}

// reads: a chunk is proven by reading its blocks rather than made, which reads them, too.
void look_up(KeptSource* source, Client* client, uint32 first, uint32 count, bool reads, FoundProof* proofs) {
    look_up_chunks(heap_scan_relation(source->scan), client, wanted_columns(source),
                   {first, count, static_cast<BlockNumber>(source->share->blocks), reads}, proofs);
}

// One that is there, but had better be made again if it is time for that.
bool could_be_renewed(const KeptSource* source, uint32 chunk, const FoundProof* proof) {
    return proof->is_usable && lacks_blocks(proof) &&
           is_worth_making(chunk, source->share->blocks, &proof->page);
}

bool is_to_be_made(const KeptSource* source, uint32 chunk, const FoundProof* proof, bool is_time_to_renew) {
    if (proof->is_usable) return is_time_to_renew && could_be_renewed(source, chunk, proof);
    return proof->is_proven && is_worth_making(chunk, source->share->blocks, &proof->page);
}

void decide_chunk(KeptSource* source, uint32 chunk, const FoundProof* proof, bool is_time_to_renew) {
    if (source->share->may_make && is_to_be_made(source, chunk, proof, is_time_to_renew)) {
        kept_share_add(source->share, {chunk, 0, 0, false, proof->page.map});
        return;
    }
    if (!proof->is_usable) return;
    kept_share_add(source->share,
                   {chunk, proof->chunk.handle, proof->chunk.rows, false, proven_blocks(proof)});
    if (proof->is_patched() && count_blocks(proof->patched) > 0)
        kept_share_add(source->share, {chunk, proof->patch.handle, proof->patch.rows, true, proof->patched});
}

bool is_any_to_be_made(const KeptSource* source, const FoundProof* proofs, uint32 count,
                       bool is_time_to_renew) {
    for (uint32 i = 0; source->share->may_make && i < count; i++)
        if (is_to_be_made(source, i, &proofs[i], is_time_to_renew)) return true;
    return false;
}

bool ask_keeper(const KeptSource* source, bool patches_alone) {
    KeepRequest* request = request_columns(heap_scan_relation(source->scan), &source->columns);
    request->patches_alone = patches_alone ? 1 : 0;
    request->is_kept = are_forms_kept(request->files, wanted_columns(source)) ? 1 : 0;
    const bool is_taken = hand_to_keeper(request);
    pfree(request);
    return is_taken;
}

// The keeper makes them rather than this scan, which then has nothing to say of what is kept.
bool are_left_to_keeper(const KeptSource* source) {
    return setting_keep_in_background && ask_keeper(source, false);
}

// Whether it is time to make those of the chunks again that blocks could be added to.
bool is_time_to_renew(KeptSource* source, const FoundProof* proofs, uint32 count) {
    if (!source->share->may_make) return false;
    uint64 lacking = 0;
    uint64 blocks = 0;
    for (uint32 i = 0; i < count; i++) {
        if (!could_be_renewed(source, i, &proofs[i])) continue;
        lacking += count_lacking_blocks(&proofs[i]);
        blocks += count_blocks(proofs[i].page.map);
    }
    return lacking > 0 && note_lacking_blocks(chunk_key(heap_scan_relation(source->scan), 0),
                                              Lacking::OfChunks, lacking, blocks);
}

// Scans read what has changed once more in vain than it would take to keep it.
constexpr uint64 kVainReads = 2;

// Has the keeper keep what was changed since, when scans have read enough of it.
void ask_for_patches(const KeptSource* source, const FoundProof* proofs, uint32 count) {
    if (!source->share->may_make || !setting_keep_in_background || !may_patch()) return;
    uint64 lacking = 0;
    uint64 patched = 0;
    for (uint32 i = 0; i < count; i++) {
        const uint64 some =
            count_blocks(unpatched_blocks(&proofs[i], i, static_cast<BlockNumber>(source->share->blocks)));
        if (some < kFewestPatched) continue;
        lacking += some;
        patched += count_blocks(proofs[i].patch.map);
    }
    const ChunkKey table = chunk_key(heap_scan_relation(source->scan), 0);
    if (lacking > 0 &&
        note_lacking_blocks(table, Lacking::Patches, lacking, kVainReads * (lacking + patched)))
        ask_keeper(source, true);
}

// Planners are to know what is missing in many of the chunks, before they count on it again.
void note_lacking_forms(const KeptSource* source, const FoundProof* proofs, uint32 count) {
    for (int i = 0; i < source->columns.count; i++) {
        uint32 lacking = 0;
        for (uint32 chunk = 0; chunk < count; chunk++)
            if (is_to_be_made(source, chunk, &proofs[chunk], false) &&
                !(proofs[chunk].chunk.has[i / 8] >> (i % 8) & 1))
                lacking++;
        if (lacking * kManyLacking > count)
            forget_kept_form(chunk_key(heap_scan_relation(source->scan), 0), source->columns.columns[i]);
    }
}

void decide_chunks(KeptSource* source, Client* client, uint32 chunks) {
    if (chunks == 0) return;
    auto* proofs = unset<FoundProof>(chunks);
    look_up(source, client, 0, chunks, false, proofs);
    if (client_refusal(client)) return pfree(proofs);  // they were not found, which says nothing of them
    const bool is_time = is_time_to_renew(source, proofs, chunks);
    if (is_any_to_be_made(source, proofs, chunks, is_time) && are_left_to_keeper(source)) {
        note_lacking_forms(source, proofs, chunks);
        source->share->may_make = false;
    }
    if (!is_time) ask_for_patches(source, proofs, chunks);
    for (uint32 chunk = 0; chunk < chunks; chunk++) decide_chunk(source, chunk, &proofs[chunk], is_time);
    kept_share_divide(source->share);
    pfree(proofs);
}

// The scan has been started. Not in the context of a row.
void decide(KeptSource* source, Client* client) {
    KeptShare* share = source->share;
    share->blocks = heap_scan_start(source->scan);
    share->chunks = chunks_of_blocks(share->blocks);
    bool may_use = share->may_be_used && may_ask_for_constants(source->conditions, source->estate);
    uint32 chunks = may_use ? Min(share->chunks, share->capacity) : 0;
    share->may_make = chunks > 0 && note_scan_to_keep(chunk_key(heap_scan_relation(source->scan), 0));
    decide_chunks(source, client, chunks);
    share->is_decided = true;
}

void decide_alone(KeptSource* source, Client* client) {
    uint32 chunks = chunks_of_blocks(heap_scan_start(source->scan));
    source->share = kept_share_init(zeroed<std::byte>(kept_share_size(chunks)), chunks, 1);
    source->share->may_be_used = may_use_kept_columns(heap_scan_relation(source->scan), source->estate);
    source->is_alone = true;
    decide(source, client);
}

// Who shares the scan with others, but nothing else, reads all that is handed out.
void open(KeptSource* source, Client* client) {
    source->is_open = true;
    source->has_ended = false;
    source->taken = nullptr;
    heap_scan_start(source->scan);
    if (!source->share && !heap_scan_is_shared(source->scan)) decide_alone(source, client);
    KeptShare* share = source->share;
    if (!share || !share->is_decided || share->count == 0) return;
    BlockNumber covered = Min(share->chunks, share->capacity) * kChunkBlocks;
    heap_scan_pass_over(source->scan, kept_share_map(share, 0)->bits, covered);
    ask_for_constants(source->conditions);
}

// Blocks that all pass over are read by who has taken their chunk, where nothing that is kept stands for
// them.
void read_too(KeptSource* source, uint32 chunk, const ChunkMap* passed_over, const ChunkMap* usable) {
    if (usable->contains(*passed_over)) return;
    if (!source->read_too) {
        source->read_too = zeroed<uint8>(source->share->capacity * kChunkMapBytes);
        heap_scan_read_too(source->scan, source->read_too);
    }
    uint8* bits = source->read_too + uint64{chunk} * kChunkMapBytes;
    for (uint32 i = 0; i < kChunkMapBytes; i++)
        bits[i] = passed_over->bits[i] & static_cast<uint8>(~usable->bits[i]);
}

// What was made, or has been made by somebody else since. Blocks that others read are left to them.
UsableChunk make_taken(KeptSource* source, Client* client, uint32 chunk) {
    UsableChunk usable = {};
    FoundProof proof;
    look_up(source, client, chunk, 1, true, &proof);
    if (client_refusal(client)) return usable;
    const bool is_enough = proof.is_usable && !lacks_blocks(&proof);
    if (proof.is_proven && !is_enough && is_worth_making(chunk, source->share->blocks, &proof.page) &&
        make(source, client, chunk, &proof.page, &proof.chunk))
        look_up(source, client, chunk, 1, true, &proof);
    const ChunkMap* passed_over = kept_share_map(source->share, chunk);
    if (proof.is_usable) {
        usable = {proof.chunk.handle, proof.chunk.rows, common_blocks(proven_blocks(&proof), *passed_over)};
    }
    read_too(source, chunk, passed_over, &usable.map);
    return usable;
}

void end_chunks(KeptSource* source) {
    KeptShare* share = source->share;
    source->has_ended = true;
    if (!share || !share->is_decided || !share->may_make) return;
    Bitmapset* attributes = nullptr;
    for (int i = 0; i < source->columns.count; i++)
        attributes = attributes_of_form(&source->columns.forms[i], attributes);
    const ChunkKey table = chunk_key(heap_scan_relation(source->scan), 0);
    const uint64 kept = pg_atomic_read_u64(&share->passed_over);
    if (kept > 0) note_kept_forms(table, wanted_columns(source));
    note_kept_blocks(table, kept, share->blocks, attributes);
    bms_free(attributes);
}

// counts: it is the first part of a chunk.
void add_usable(KeptSource* source, const UsableChunk* chunk, bool counts) {
    UsableChunks* usable = &source->usable;
    Assert(usable->count < usable->capacity);
    usable->chunks[usable->count++] = {chunk->handle, chunk->map, {}};
    usable->rows += chunk->rows;
    if (counts) pg_atomic_fetch_add_u32(&source->share->used, 1);
    const uint64 blocks = count_blocks(chunk->map);
    pg_atomic_fetch_add_u64(&source->share->passed_over, static_cast<int64>(blocks));
    note_kept_chunk(counts, blocks);
}

// As many as there are; or a part of those that are left, so that others who share them have some to do.
uint32 chunks_at_once(const KeptSource* source) {
    if (!source->share || source->is_alone) return kMaxScannedChunks;
    return Min(1 + kept_share_left(source->share) / kShareOfChunks, kMaxScannedChunks);
}

// For as many as may be handed out: most tables have few.
void make_room(UsableChunks* usable, uint32 chunks) {
    if (chunks <= usable->capacity) return;
    if (usable->chunks) pfree(usable->chunks);
    usable->chunks = unset<ScannedChunk>(chunks);
    usable->capacity = chunks;
}

// Finds the chunks that are scanned next. Those that are there are scanned together, those that have to be
// made one by one.
KeptProbe next_usable(KeptSource* source, Client* client, bool may_make) {
    KeptShare* share = source->share;
    uint32 most = chunks_at_once(source);
    if (share) make_room(&source->usable, Min(share->count * share->parts, kMaxScannedChunks));
    while (source->usable.count < most && !client_refusal(client)) {
        SharedPart part = {source->taken, 0};
        if (!part.chunk && share && share->is_decided) part = kept_share_take(share);
        const SharedChunk* chunk = part.chunk;
        source->taken = chunk;
        if (!chunk) break;
        bool is_made = chunk->handle == 0;
        if (is_made && part.number > 0) {  // who has its first part makes it, and takes all of it
            source->taken = nullptr;
            continue;
        }
        if (is_made && source->usable.count > 0) break;
        if (is_made && !may_make) return KeptProbe::Later;
        source->taken = nullptr;
        UsableChunk usable =
            is_made ? make_taken(source, client, chunk->number)
                    : UsableChunk{chunk->handle, rows_of_part(share, part), map_of_part(share, part)};
        if (usable.handle == 0) continue;
        add_usable(source, &usable, part.number == 0 && !chunk->is_patch);
        if (is_made) break;
    }
    if (source->usable.count > 0) return KeptProbe::Sent;
    if (!client_refusal(client)) end_chunks(source);
    return KeptProbe::None;
}

void take_figures(KeptSource* source) {
    KeptShare* share = source->share;
    if (!share || !share->is_decided) return;
    source->has_run = true;
    source->figures = {share->chunks, pg_atomic_read_u32(&share->used), share->blocks,
                       pg_atomic_read_u64(&share->passed_over)};
}

KeptProbe next_chunks(KeptSource* source, Client* client, bool may_make) {
    source->usable.count = 0;
    source->usable.rows = 0;
    if (source->is_open && source->has_ended) return KeptProbe::None;
    if (!source->is_open) open(source, client);
    KeptProbe found = next_usable(source, client, may_make);
    if (found == KeptProbe::Sent)
        count_rows_fetched(heap_scan_relation(source->scan), static_cast<int64>(source->usable.rows));
    return found;
}

KeptScanView scan_of(const KeptSource* source) {
    return {known_conditions(source->conditions), {source->usable.chunks, source->usable.count}};
}

// Whatever was wanted before.
KeptSource* make_source(HeapScan* scan, const BatchWriter* writer, EState* estate) {
    Relation relation = heap_scan_relation(scan);
    if (!kKeepsColumns || setting_keep_memory == 0) return nullptr;
    bool has_hints = !IsParallelWorker();
    if (has_hints && (server_keep_memory() == 0 || !may_use_kept_columns(relation, estate) ||
                      RelationGetNumberOfBlocks(relation) < kFewestKeptBlocks))
        return nullptr;
    auto* source = zeroed<KeptSource>();
    source->scan = scan;
    source->estate = estate;
    source->context = CurrentMemoryContext;
    source->columns = make_kept_columns(writer->column_count + int{kMaxKeptConditions});
    if (!add_columns(source, writer)) return nullptr;
    source->conditions = make_kept_conditions(heap_scan_node(scan), relation, &source->columns);
    if (source->columns.count == 0) add_column_to_count(source);
    if (!source->conditions || source->columns.count == 0 || source->columns.count > int{kMaxKeptColumns})
        return nullptr;
    return source;
}

// The source of a scan that is not to run, or nullptr.
void answer(AskingScans* asking, const KeptSource* source, const ChunkKey& table) {
    if (!asking->asks_for_all) {
        if (source && are_forms_kept(table, wanted_columns(source))) return;
        asking->lacking.add(table);
    }
    if (source && asking->may_ask) ask_keeper(source, false);
}

}  // namespace

KeptSource* kept_source_create(HeapScan* scan, const BatchWriter* writer, EState* estate) {
    KeptSource* source = make_source(scan, writer, estate);
    const ChunkKey table = chunk_key(heap_scan_relation(scan), 0);
    if (asking_scans) answer(asking_scans, source, table);
    const bool is_new = source && !IsParallelWorker() && source->columns.has_news && !is_table_wanted(table);
    return is_new ? nullptr : source;
}

Size kept_source_share_size(KeptSource* source) {
    if (!source->capacity)
        source->capacity = chunks_of_blocks(RelationGetNumberOfBlocks(heap_scan_relation(source->scan)));
    return kept_share_size(source->capacity);
}

void kept_source_init_share(KeptSource* source, void* memory, int processes) {
    kept_share_init(memory, source->capacity, static_cast<uint32>(processes));
    kept_source_renew_share(source, static_cast<KeptShare*>(memory));
}

void kept_source_renew_share(KeptSource* source, KeptShare* share) {
    kept_share_reset(share);
    share->may_be_used = may_use_kept_columns(heap_scan_relation(source->scan), source->estate);
}

void kept_source_use_share(KeptSource* source, KeptShare* share) {
    if (source->share) {
        take_figures(source);
        kept_source_reset(source);
    }
    source->share = share;
}

void kept_source_decide(KeptSource* source, Client* client) {
    MemoryContext caller = MemoryContextSwitchTo(source->context);
    decide(source, client);
    MemoryContextSwitchTo(caller);
}

KeptProbe kept_source_probe(KeptSource* source, Client* client, bool may_make, uint64* sequence) {
    MemoryContext caller = MemoryContextSwitchTo(source->context);
    KeptProbe found = next_chunks(source, client, may_make);
    if (found == KeptProbe::Sent) {
        KeptScanView scan = scan_of(source);
        *sequence = client_probe_kept(client, &scan);
    }
    MemoryContextSwitchTo(caller);
    return found;
}

uint64 kept_source_build(KeptSource* source, Client* client, uint32_t stage) {
    MemoryContext caller = MemoryContextSwitchTo(source->context);
    uint64 rows = 0;
    while (!client_refusal(client) && next_chunks(source, client, true) == KeptProbe::Sent) {
        KeptScanView scan = scan_of(source);
        uint64 built = client_build_kept(client, stage, &scan);
        rows += client_refusal(client) ? source->usable.rows : built;
    }
    MemoryContextSwitchTo(caller);
    return rows;
}

void kept_source_reset(KeptSource* source) {
    if (!source->is_open) return;
    source->is_open = false;
    heap_scan_pass_over(source->scan, nullptr, 0);
    take_figures(source);
    if (source->read_too) pfree(source->read_too);
    source->read_too = nullptr;
    if (!source->is_alone) return;
    pfree(source->share);
    source->share = nullptr;
    source->is_alone = false;
}

bool kept_source_figures(KeptSource* source, KeptFigures* figures) {
    take_figures(source);
    *figures = source->figures;
    return source->has_run;
}

}  // namespace gpujoin
