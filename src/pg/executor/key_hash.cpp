// See key_hash.h.
#include "pg/executor/key_hash.h"

#include "pg/allocate.h"

extern "C" {
#include "common/hashfn.h"
}

namespace gpujoin {

namespace {

constexpr uint64 kFirstBytes = 32768;
constexpr uint64 kMostBytesOfSet = uint64{1} << 20;  // beyond that row by row

const StageSpec* spec_of(const GpuJoinState* state, const JoinStage* stage) {
    return &state->stage_specs[stage - state->stages];
}

bool is_of_probe_input(const StageSpec* spec, int equality) {
    return spec->probe[spec->join.equality[equality].probe_column].origin == kFromSource;
}

void allocate_rows(KeyHasher* hasher, uint64 bytes) {
    hasher->allocated = allocate<char>(hasher->context, bytes + kBufferAlignment, 0, MCXT_ALLOC_HUGE);
    hasher->memory = reinterpret_cast<std::byte*>(
        TYPEALIGN(kBufferAlignment, reinterpret_cast<uintptr_t>(hasher->allocated)));
    hasher->bytes = bytes;
}

uint64 hash_value(const InputColumn* column, uint32 row, uint64 seed) {
    uint32 width = fixed_width(column->spec.type);
    const std::byte* bytes =
        width ? column->values + uint64{width} * row : column->data + column->offsets[row];
    uint32 length = width ? width : column->offsets[row + 1] - column->offsets[row];
    return hash_bytes_extended(reinterpret_cast<const unsigned char*>(bytes), static_cast<int>(length), seed);
}

bool is_null(const InputColumn* column, uint32 row) {
    return column->has_nulls && !(column->validity[row >> 3] >> (row & 7) & 1);
}

// Of a row that was written.
HashedRow hash_row(const BatchWriter* writer, uint32 row) {
    HashedRow hashed = {};
    for (int i = 0; i < writer->column_count; i++) {
        const InputColumn* column = &writer->columns[i];
        if (is_null(column, row)) return {0, true};
        hashed.hash = hash_value(column, row, hashed.hash);
    }
    return hashed;
}

void grow(KeyHasher* hasher) {
    pfree(hasher->allocated);
    allocate_rows(hasher, 2 * hasher->bytes);
}

// False where their keys are too large for that, or are computed.
bool write_all(KeyHasher* hasher, const RowSet* set) {
    BatchWriter* writer = &hasher->writer;
    if (writer->evaluates) return false;
    for (;; grow(hasher)) {
        if (batch_begin_rows(writer, hasher->memory, hasher->bytes, set->rows) &&
            batch_add_rows(writer, set, set->rows) == set->rows)
            return true;
        if (hasher->bytes >= kMostBytesOfSet) return false;
    }
}

void write_one(KeyHasher* hasher, TupleTableSlot* slot) {
    BatchWriter* writer = &hasher->writer;
    while (!batch_begin_rows(writer, hasher->memory, hasher->bytes, 1) || !batch_add(writer, slot))
        grow(hasher);
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
    allocate_rows(&hasher, kFirstBytes);
    return hasher;
}

void hash_keys(KeyHasher* hasher, const RowSet* set, HashedRow* rows) {
    const bool are_written = write_all(hasher, set);
    for (uint32 i = 0; i < set->rows; i++) {
        if (!are_written) write_one(hasher, row_set_fetch(set, i));
        rows[i] = hash_row(&hasher->writer, are_written ? i : 0);
    }
}

void free_key_hasher(KeyHasher* hasher) {
    pfree(hasher->writer.columns);
    pfree(hasher->allocated);
}

}  // namespace gpujoin
