// See kept_source.h, and docs/design.md, Kept columns, for the order in which things are looked at: the
// snapshot first, then the map.
#include "pg/executor/kept_source.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/kept_columns.h"
#include "pg/executor/kept_maker.h"
#include "pg/executor/kept_proof.h"
#include "pg/kept_expression.h"
#include "pg/kept_tables.h"
#include "pg/range_condition.h"
#include "pg/settings.h"

extern "C" {
#include "executor/executor.h"
}

namespace gpujoin {

namespace {

constexpr BlockNumber kFewestBlocks = 128;  // of a table whose columns are kept

// A condition of the scan, and the kept column that it is on.
struct ScanCondition {
    RangeCondition condition;
    ExprState* constant;  // nullptr: the column says whether it is true
    int column;
};

struct UsableChunk {
    uint32 handle;
    uint64 rows;
    ChunkMap map;
};

}  // namespace

struct KeptSource {
    HeapScan* scan;
    const EState* estate;
    MemoryContext context;
    KeptColumns columns;
    int condition_count;
    ScanCondition* scan_conditions;
    bool has_news;     // something is computed that was not wanted before
    KeptMaker* maker;  // nullptr: not needed so far

    // The current run.
    bool is_open;
    bool has_run;
    KeptCondition* conditions;
    UsableChunk* chunks;
    int chunk_count;
    int next_chunk;
    uint8* passed_over;  // one bit a block of the table
    KeptFigures figures;
};

namespace {

uint64 count_bits(const ChunkMap* map) {
    uint64 count = 0;
    for (uint8 bits : map->bits) count += static_cast<uint64>(__builtin_popcount(bits));
    return count;
}

bool contains(const ChunkMap* outer, const ChunkMap* inner) {
    for (uint32 i = 0; i < kChunkMapBytes; i++)
        if (inner->bits[i] & ~outer->bits[i]) return false;
    return true;
}

// Without the blocks that the scan does not know of.
void cut_map(ChunkMap* map, uint32 chunk, BlockNumber blocks) {
    for (uint32 block = 0; block < kChunkBlocks; block++)
        if (chunk * kChunkBlocks + block >= blocks)
            map->bits[block >> 3] &= static_cast<uint8>(~(1u << (block & 7)));
}

// Attributes of the child's slot become those of the table.
Node* attribute_mutator(Node* node, void* scan) {
    if (!node) return nullptr;
    if (!IsA(node, Var)) return mutate_expression(node, attribute_mutator, scan);
    auto* var = static_cast<Var*>(copyObjectImpl(node));
    var->varattno = heap_scan_attribute(static_cast<const HeapScan*>(scan), var->varattno);
    return reinterpret_cast<Node*>(var);
}

// The expression that is sent, as one over the table; nullptr where there is none.
Node* over_table(HeapScan* scan, const InputColumn* sent) {
    if (!sent->expression) return nullptr;
    return canonical_expression(attribute_mutator(reinterpret_cast<Node*>(sent->expression->expr), scan));
}

// What is computed is kept when it is wanted for the second time.
void note_computed(KeptSource* source, Node* expression) {
    ChunkKey table = chunk_key(heap_scan_relation(source->scan), 0);
    source->has_news |= !note_expression_to_keep(hash_of_expression(table, expression));
}

bool add_columns(KeptSource* source, const BatchWriter* writer) {
    Relation relation = heap_scan_relation(source->scan);
    for (int i = 0; i < writer->column_count; i++) {
        KeptForm form;
        const InputColumn* sent = &writer->columns[i];
        AttrNumber attribute = sent->attribute > 0 ? heap_scan_attribute(source->scan, sent->attribute) : 0;
        Node* expression = attribute > 0 ? nullptr : over_table(source->scan, sent);
        if (!kept_form(sent, attribute, expression, &form)) return false;
        if (expression) note_computed(source, expression);
        // The source's come first, in their order.
        if (add_kept_column(&source->columns, relation, &form) != i) return false;
    }
    return true;
}

bool add_conditions(KeptSource* source) {
    PlanState* node = heap_scan_node(source->scan);
    List* qual = node->plan->qual;
    if (list_length(qual) > int{kMaxKeptConditions}) return false;
    source->scan_conditions = zeroed<ScanCondition>(list_length(qual) + 1);
    ListCell* cell;
    foreach (cell, qual) {
        ScanCondition* test = &source->scan_conditions[source->condition_count++];
        auto* clause = static_cast<Node*>(lfirst(cell));
        KeptForm form;
        if (find_range_condition(clause, true, &test->condition) &&
            kept_form_of_condition(&test->condition, &form)) {
            test->constant = ExecInitExpr(test->condition.constant, node);
        } else {
            if (!may_keep_expression(clause)) return false;
            form = kept_form_of_truth(canonical_expression(clause));
            note_computed(source, form.expression);
        }
        test->column = add_kept_column(&source->columns, heap_scan_relation(source->scan), &form);
    }
    return true;
}

// A subquery's result, before anybody has asked for it.
bool is_not_known_yet(const Expr* constant, const EState* estate) {
    while (IsA(constant, RelabelType)) constant = reinterpret_cast<const RelabelType*>(constant)->arg;
    if (!IsA(constant, Param)) return false;
    const auto* param = reinterpret_cast<const Param*>(constant);
    return param->paramkind == PARAM_EXEC && estate->es_param_exec_vals[param->paramid].execPlan;
}

// The server gets all conditions at once. Core asks for a constant when the conditions before have left a
// row: only that of the first is sure to be asked for.
bool may_ask_for_constants(const KeptSource* source) {
    for (int i = 1; i < source->condition_count; i++)
        if (source->scan_conditions[i].constant &&
            is_not_known_yet(source->scan_conditions[i].condition.constant, source->estate))
            return false;
    return true;
}

// What no value passes is a range that all are outside of.
KeptCondition make_condition(const ScanCondition* test, ExprContext* context) {
    if (!test->constant) return {1, 0, static_cast<uint16>(test->column), 0, {}};
    ResetExprContext(context);
    bool isnull;
    Datum value = ExecEvalExprSwitchContext(test->constant, context, &isnull);
    ValueRange range = {0, 0, false, true};
    if (!isnull) {
        MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
        range = range_of(&test->condition, value);
        MemoryContextSwitchTo(caller);
    }
    if (range.never) range = {0, PG_UINT64_MAX, true, true};
    return {range.low, range.span, static_cast<uint16>(test->column), static_cast<uint8>(range.outside), {}};
}

void ask_for_constants(KeptSource* source) {
    ExprContext* context = heap_scan_node(source->scan)->ps_ExprContext;
    for (int i = 0; i < source->condition_count; i++)
        source->conditions[i] = make_condition(&source->scan_conditions[i], context);
}

std::span<const ChunkColumn> wanted_columns(const KeptSource* source) {
    return {source->columns.columns, static_cast<size_t>(source->columns.count)};
}

// What is there of the right version keeps its blocks, so that columns can join it.
bool make(KeptSource* source, Client* client, uint32 chunk, const MapPage* page, const FoundChunk* found) {
    if (!source->maker) {
        MemoryContext caller = MemoryContextSwitchTo(source->context);
        source->maker = make_kept_maker(heap_scan_relation(source->scan), &source->columns);
        MemoryContextSwitchTo(caller);
    }
    auto* wanted = zeroed<bool>(source->columns.count);
    MapPage of = *page;
    bool joins = found->exists && found->version == page->version && contains(&page->map, &found->map);
    if (joins) of.map = found->map;
    for (int i = 0; i < source->columns.count; i++) wanted[i] = !joins || !(found->has[i / 8] >> (i % 8) & 1);
    bool is_made = make_chunk(source->maker, client, chunk, &of, wanted);
    pfree(wanted);
    return is_made;
}

// Finds a chunk, or has it made. False where it is of no use.
bool find_chunk(KeptSource* source, Client* client, uint32 chunk, bool may_make, UsableChunk* usable) {
    Relation relation = heap_scan_relation(source->scan);
    ChunkKey key = chunk_key(relation, chunk);
    for (bool is_first = true;; is_first = false) {
        MapPage page;
        if (!read_map_page(relation, chunk, &page)) return false;
        cut_map(&page.map, chunk, static_cast<BlockNumber>(source->figures.blocks));
        FoundChunk found;
        client_find_kept(client, &key, wanted_columns(source), &found);
        if (found.handle != 0 && found.version == page.version) {
            usable->handle = found.handle;
            usable->rows = found.rows;
            for (uint32 i = 0; i < kChunkMapBytes; i++)
                usable->map.bits[i] = found.map.bits[i] & page.map.bits[i];
            return true;
        }
        uint64 blocks = Min(source->figures.blocks - uint64{chunk} * kChunkBlocks, uint64{kChunkBlocks});
        if (!is_first || !may_make || 2 * count_bits(&page.map) < blocks) return false;
        if (!make(source, client, chunk, &page, &found)) return false;
    }
}

void pass_over(KeptSource* source, uint32 chunk, const ChunkMap* map) {
    static_assert(kChunkBlocks % BITS_PER_BYTE == 0);
    memcpy(source->passed_over + uint64{chunk} * kChunkMapBytes, map->bits, kChunkMapBytes);
}

// Not in the context of a row.
void open(KeptSource* source, Client* client) {
    MemoryContext caller = MemoryContextSwitchTo(source->context);
    Relation relation = heap_scan_relation(source->scan);
    BlockNumber blocks = heap_scan_start(source->scan);
    source->is_open = source->has_run = true;
    source->figures = {(blocks + kChunkBlocks - 1) / kChunkBlocks, 0, blocks, 0};
    source->chunk_count = source->next_chunk = 0;
    bool may_use = may_use_kept_columns(relation, source->estate) && may_ask_for_constants(source);
    uint32 chunks = may_use ? source->figures.chunks : 0;
    source->chunks = zeroed<UsableChunk>(chunks + 1);
    source->passed_over = zeroed<uint8>(uint64{chunks} * kChunkMapBytes + 1);
    bool may_make = chunks > 0 && note_scan_to_keep(chunk_key(relation, 0));
    for (uint32 chunk = 0; chunk < chunks; chunk++) {
        UsableChunk* usable = &source->chunks[source->chunk_count];
        if (!find_chunk(source, client, chunk, may_make, usable)) continue;
        pass_over(source, chunk, &usable->map);
        source->chunk_count++;
        source->figures.passed_over += count_bits(&usable->map);
    }
    source->figures.used = static_cast<uint32>(source->chunk_count);
    if (may_make) note_kept_blocks(chunk_key(relation, 0), source->figures.passed_over, blocks);
    if (source->chunk_count > 0) {
        heap_scan_pass_over(source->scan, source->passed_over);
        ask_for_constants(source);
    }
    MemoryContextSwitchTo(caller);
}

// False when all chunks were used.
bool next_chunk(KeptSource* source, Client* client, KeptScanView* scan) {
    if (!source->is_open) open(source, client);
    if (source->next_chunk == source->chunk_count) return false;
    const UsableChunk* chunk = &source->chunks[source->next_chunk++];
    *scan = {chunk->handle, {source->conditions, static_cast<size_t>(source->condition_count)}, &chunk->map};
    count_rows_fetched(heap_scan_relation(source->scan), static_cast<int64>(chunk->rows));
    return true;
}

}  // namespace

KeptSource* kept_source_create(HeapScan* scan, const BatchWriter* writer, EState* estate) {
    Relation relation = heap_scan_relation(scan);
    if (!may_use_kept_columns(relation, estate) || RelationGetNumberOfBlocks(relation) < kFewestBlocks)
        return nullptr;
    auto* source = zeroed<KeptSource>();
    source->scan = scan;
    source->estate = estate;
    source->context = CurrentMemoryContext;
    source->columns = make_kept_columns(writer->column_count + int{kMaxKeptConditions});
    if (!add_columns(source, writer) || !add_conditions(source) || source->columns.count == 0 ||
        source->columns.count > int{kMaxKeptColumns} || source->has_news)
        return nullptr;
    if (heap_scan_is_shared(scan)) {  // the next one may be planned otherwise
        note_scan_to_keep(chunk_key(relation, 0));
        return nullptr;
    }
    source->conditions = zeroed<KeptCondition>(source->condition_count + 1);
    return source;
}

bool kept_source_probe(KeptSource* source, Client* client, uint64* sequence) {
    KeptScanView scan;
    if (!next_chunk(source, client, &scan)) return false;
    *sequence = client_probe_kept(client, &scan);
    return true;
}

bool kept_source_build(KeptSource* source, Client* client, uint32_t stage, uint64* rows) {
    KeptScanView scan;
    if (!next_chunk(source, client, &scan)) return false;
    *rows = client_build_kept(client, stage, &scan);
    return true;
}

void kept_source_reset(KeptSource* source) {
    if (!source->is_open) return;
    source->is_open = false;
    heap_scan_pass_over(source->scan, nullptr);
    pfree(source->chunks);
    pfree(source->passed_over);
}

bool kept_source_figures(const KeptSource* source, KeptFigures* figures) {
    *figures = source->figures;
    return source->has_run;
}

}  // namespace gpujoin
