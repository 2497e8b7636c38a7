// See key_hash.h.
#include "pg/executor/key_hash.h"

#include "pg/allocate.h"

extern "C" {
#include "common/hashfn.h"
}

namespace gpujoin {

namespace {

constexpr uint64 kFirstBytes = 8192;

const StageSpec* spec_of(const GpuJoinState* state, const JoinStage* stage) {
    return &state->stage_specs[stage - state->stages];
}

bool is_of_probe_input(const StageSpec* spec, int equality) {
    return spec->probe[spec->join.equality[equality].probe_column].origin == kFromSource;
}

void allocate_row(KeyHasher* hasher, uint64 bytes) {
    hasher->allocated = allocate<char>(hasher->context, bytes + kBufferAlignment, 0, MCXT_ALLOC_HUGE);
    hasher->memory = reinterpret_cast<std::byte*>(
        TYPEALIGN(kBufferAlignment, reinterpret_cast<uintptr_t>(hasher->allocated)));
    hasher->bytes = bytes;
}

uint64 hash_value(const InputColumn* column, uint64 seed) {
    uint32 width = fixed_width(column->spec.type);
    const std::byte* bytes = width ? column->values : column->data;
    uint32 length = width ? width : column->offsets[1];
    return hash_bytes_extended(reinterpret_cast<const unsigned char*>(bytes), static_cast<int>(length), seed);
}

}  // namespace

bool can_hash_keys(const GpuJoinState* state, const JoinStage* stage) {
    const StageSpec* spec = spec_of(state, stage);
    for (int i = 0; i < spec->join.equalities; i++)
        if (is_of_probe_input(spec, i)) return true;
    return false;
}

KeyHasher make_key_hasher(const GpuJoinState* state, const JoinStage* stage, bool is_probe_side) {
    const StageSpec* spec = spec_of(state, stage);
    const Side* side = is_probe_side ? &state->probe.side : &stage->build;
    KeyHasher hasher = {side->writer, nullptr, nullptr, 0, state->css.ss.ps.state->es_query_cxt};
    BatchWriter* writer = &hasher.writer;
    writer->columns = zeroed_in<InputColumn>(hasher.context, spec->join.equalities);
    writer->column_count = 0;
    for (int i = 0; i < spec->join.equalities; i++) {
        if (!is_of_probe_input(spec, i)) continue;
        const Term& term = spec->join.equality[i];
        int column = is_probe_side ? spec->probe[term.probe_column].column : term.build_column;
        writer->columns[writer->column_count++] = side->writer.columns[column];
    }
    if (side->writer.equality_columns > 0) writer->equality_columns = writer->column_count;
    allocate_row(&hasher, kFirstBytes);
    return hasher;
}

bool hash_keys(KeyHasher* hasher, TupleTableSlot* slot, uint64* hash) {
    BatchWriter* writer = &hasher->writer;
    batch_begin_row(writer, hasher->memory, hasher->bytes);
    while (!batch_add(writer, slot)) {
        pfree(hasher->allocated);
        allocate_row(hasher, 2 * hasher->bytes);
        batch_begin_row(writer, hasher->memory, hasher->bytes);
    }
    *hash = 0;
    for (int i = 0; i < writer->column_count; i++) {
        if (writer->columns[i].has_nulls) return false;
        *hash = hash_value(&writer->columns[i], *hash);
    }
    return true;
}

void free_key_hasher(KeyHasher* hasher) {
    pfree(hasher->writer.columns);
    pfree(hasher->allocated);
}

}  // namespace gpujoin
