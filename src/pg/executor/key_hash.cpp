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

// As MurmurHash3 ends: each bit of the value has a part in all of the hash.
uint64 mix(uint64 value) {
    value = (value ^ value >> 33) * 0xff51afd7ed558ccd;
    value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53;
    return value ^ value >> 33;
}

bool is_null(const InputColumn* column, uint32 row) {
    return column->has_nulls && !(column->validity[row >> 3] >> (row & 7) & 1);
}

// hash(row, seed): of the column's value.
template <typename Hash>
void add_each(const InputColumn* column, uint32 count, HashedRow* rows, Hash hash) {
    for (uint32 i = 0; i < count; i++) {
        if (is_null(column, i))
            rows[i] = {0, true};
        else if (!rows[i].has_null)
            rows[i].hash = hash(i, rows[i].hash);
    }
}

template <typename Value>
void add_integers(const InputColumn* column, uint32 count, HashedRow* rows) {
    add_each(column, count, rows, [column](uint32 row, uint64 seed) {
        Value value;
        memcpy(&value, column->values + sizeof value * row, sizeof value);
        return mix(value + mix(seed + 1));
    });
}

void add_bytes(const InputColumn* column, uint32 count, HashedRow* rows) {
    const uint32 width = fixed_width(column->spec.type);
    add_each(column, count, rows, [column, width](uint32 row, uint64 seed) {
        const std::byte* bytes =
            width > 0 ? column->values + uint64{width} * row : column->data + column->offsets[row];
        const uint32 length = width > 0 ? width : column->offsets[row + 1] - column->offsets[row];
        return hash_bytes_extended(reinterpret_cast<const unsigned char*>(bytes), static_cast<int>(length),
                                   seed);
    });
}

void add_column(const InputColumn* column, uint32 count, HashedRow* rows) {
    switch (fixed_width(column->spec.type)) {
        case 1:
            return add_integers<uint8>(column, count, rows);
        case 2:
            return add_integers<uint16>(column, count, rows);
        case 4:
            return add_integers<uint32>(column, count, rows);
        case 8:
            return add_integers<uint64>(column, count, rows);
        default:
            return add_bytes(column, count, rows);
    }
}

// Of rows that were written.
void hash_rows(const BatchWriter* writer, uint32 count, HashedRow* rows) {
    for (uint32 i = 0; i < count; i++) rows[i] = {};
    for (int i = 0; i < writer->column_count; i++) add_column(&writer->columns[i], count, rows);
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
    if (write_all(hasher, set)) return hash_rows(&hasher->writer, set->rows, rows);
    for (uint32 i = 0; i < set->rows; i++) {
        write_one(hasher, row_set_fetch(set, i));
        hash_rows(&hasher->writer, 1, &rows[i]);
    }
}

void free_key_hasher(KeyHasher* hasher) {
    pfree(hasher->writer.columns);
    pfree(hasher->allocated);
}

}  // namespace gpujoin
