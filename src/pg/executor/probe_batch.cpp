// See probe_batch.h.
#include "pg/executor/probe_batch.h"

#include "pg/allocate.h"
#include "pg/executor/by_reference.h"

extern "C" {
#include "utils/memutils.h"
}

namespace gpujoin {

// A piece of a batch's arena; the bytes follow.
struct ArenaChunk {
    ArenaChunk* next;
    Size size;
};

namespace {

constexpr Size kChunkBytes = Size{256} << 10;
constexpr Size kEnoughBytes = Size{1} << 20;  // stays near the cache

ArenaChunk* take_chunk(ProbeBatch* batch, Size bytes) {
    if (batch->spare && bytes <= kChunkBytes) {
        ArenaChunk* chunk = batch->spare;
        batch->spare = chunk->next;
        return chunk;
    }
    Size size = Max(bytes, kChunkBytes);
    auto* chunk = allocate<ArenaChunk>(batch->context, 1, size, MCXT_ALLOC_HUGE);
    chunk->size = size;
    return chunk;
}

char* arena_allocate(ProbeBatch* batch, Size bytes) {
    bytes = aligned_value_bytes(bytes);
    if (!batch->chunks || batch->chunks->size - batch->chunk_used < bytes) {
        ArenaChunk* chunk = take_chunk(batch, bytes);
        chunk->next = batch->chunks;
        batch->chunks = chunk;
        batch->chunk_used = 0;
    }
    char* start = reinterpret_cast<char*>(batch->chunks + 1) + batch->chunk_used;
    batch->chunk_used += bytes;
    batch->arena_bytes += bytes;
    return start;
}

Datum arena_copy(ProbeBatch* batch, Datum value, int16 type_length) {
    Size bytes = value_bytes(value, type_length);
    char* copy = arena_allocate(batch, bytes);
    copy_value(copy, value, type_length, bytes);
    return PointerGetDatum(copy);
}

void free_chunks(ArenaChunk** chunks) {
    while (ArenaChunk* chunk = *chunks) {
        *chunks = chunk->next;
        pfree(chunk);
    }
}

// Ordinary chunks are kept for the next batch: first touching memory costs more than filling it.
void arena_reset(ProbeBatch* batch) {
    while (ArenaChunk* chunk = batch->chunks) {
        batch->chunks = chunk->next;
        if (chunk->size > kChunkBytes) {
            pfree(chunk);
            continue;
        }
        chunk->next = batch->spare;
        batch->spare = chunk;
    }
    batch->chunk_used = batch->arena_bytes = 0;
}

void free_arrays(ProbeBatch* batch) {
    for (int i = 0; i < batch->kept_count; i++) {
        if (batch->values[i]) pfree(batch->values[i]);
        if (batch->nulls[i]) pfree(batch->nulls[i]);
        batch->values[i] = nullptr;
        batch->nulls[i] = nullptr;
    }
    batch->capacity = 0;
}

void reallocate_arrays(ProbeBatch* batch, uint32_t capacity) {
    free_arrays(batch);
    for (int i = 0; i < batch->kept_count; i++) {
        batch->values[i] = allocate<Datum>(batch->context, capacity, 0, MCXT_ALLOC_HUGE);
        batch->nulls[i] = unset_in<bool>(batch->context, capacity);
    }
    batch->capacity = capacity;
}

}  // namespace

void probe_batch_init(ProbeBatch* batch, MemoryContext context, const KeptColumn* kept, int kept_count) {
    batch->kept = kept;
    batch->kept_count = kept_count;
    batch->context = context;
    batch->values = zeroed_in<Datum*>(context, kept_count + 1);
    batch->nulls = zeroed_in<bool*>(context, kept_count + 1);
}

void probe_batch_free(ProbeBatch* batch) {
    free_arrays(batch);
    free_chunks(&batch->chunks);
    free_chunks(&batch->spare);
}

void probe_batch_begin(ProbeBatch* batch, uint32_t capacity) {
    arena_reset(batch);
    if (batch->capacity < capacity) reallocate_arrays(batch, capacity);
    batch->rows = 0;
}

bool probe_batch_keep(ProbeBatch* batch, TupleTableSlot* slot) {
    uint32_t row = batch->rows++;
    for (int i = 0; i < batch->kept_count; i++) {
        const KeptColumn* column = &batch->kept[i];
        Datum value = slot->tts_values[column->attribute - 1];
        bool isnull = slot->tts_isnull[column->attribute - 1];
        batch->nulls[i][row] = isnull;
        if (!column->by_value && !isnull) value = arena_copy(batch, value, column->type_length);
        batch->values[i][row] = value;
    }
    return batch->arena_bytes < kEnoughBytes;
}

bool probe_batch_keep_rows(ProbeBatch* batch, const RowSet* set, uint32_t count) {
    for (int i = 0; i < batch->kept_count; i++) {
        const KeptColumn* column = &batch->kept[i];
        const Datum* source = set->values[column->attribute - 1];
        Datum* values = batch->values[i] + batch->rows;
        bool* nulls = batch->nulls[i] + batch->rows;
        memcpy(nulls, set->nulls[column->attribute - 1], sizeof(bool) * count);
        if (column->by_value) {
            memcpy(values, source, sizeof(Datum) * count);
            continue;
        }
        for (uint32_t row = 0; row < count; row++)
            values[row] = nulls[row] ? Datum{0} : arena_copy(batch, source[row], column->type_length);
    }
    batch->rows += count;
    return batch->arena_bytes < kEnoughBytes;
}

}  // namespace gpujoin
