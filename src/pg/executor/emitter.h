// Emitter: one row of a result as a virtual slot: build values, and probe values that were carried, from the
// result block, which by-reference Datums point into; other probe values from the batch that is still in
// hand. Nothing is allocated per row, but for keys of groups that are texts. A row is valid until its block
// is released.
#pragma once

#include "pg/client/client.h"
#include "pg/executor/output_column.h"
#include "pg/executor/probe_batch.h"
#include "pg/executor/row_set.h"

namespace gpujoin {

struct EmitProbeColumn {
    int target;  // in the slot, from 0
    int kept;    // which of the kept columns
    const Datum* values;
    const bool* nulls;
};

struct EmitResultColumn {
    int target;
    int column;  // of results
    OutputForm form;
    const std::byte* values;
    const uint8_t* validity;
    const std::byte* data;
    int32 typmod = -1;  // Padded
};

struct Emitter {
    TupleTableSlot* slot;
    EmitProbeColumn* probe;
    int probe_count;
    EmitResultColumn* result;
    int result_count;
};

// The batch that later rows take their probe values from.
void emitter_bind_batch(Emitter* emitter, const ProbeBatch* batch);
// The result that later rows take their other values from.
void emitter_bind_result(Emitter* emitter, const ResultView* view);
void bind_result_column(EmitResultColumn* column, const ResultView* view);

template <typename Wire>
Wire value_at(const EmitResultColumn* column, uint32_t row) {
    return reinterpret_cast<const Wire*>(column->values)[row];
}

// Varlena, Padded.
Datum made_varlena(const EmitResultColumn* column, uint32_t row);

// A value of the bound result: Datums as heap_deform_tuple() would make them (sign-extended).
inline Datum datum_at(const EmitResultColumn* column, uint32_t row) {
    switch (column->form) {
        case OutputForm::Value1:
            return CharGetDatum(value_at<char>(column, row));
        case OutputForm::Value2:
            return Int16GetDatum(value_at<int16>(column, row));
        case OutputForm::Value4:
            return Int32GetDatum(value_at<int32>(column, row));
        case OutputForm::Value8:
            return value_at<Datum>(column, row);
        case OutputForm::Pointer16:
            return PointerGetDatum(column->values + uint64_t{16} * row);
        case OutputForm::PointerBytes:
            break;
        case OutputForm::Varlena:
        case OutputForm::Padded:
            return made_varlena(column, row);
    }
    return PointerGetDatum(column->data + value_at<uint32_t>(column, row));
}

inline bool is_null_at(const EmitResultColumn* column, uint32_t row) {
    return column->validity && !(column->validity[row >> 3] >> (row & 7) & 1);
}

inline void emit_probe(Emitter* emitter, uint32_t probe_row) {
    Datum* values = emitter->slot->tts_values;
    bool* nulls = emitter->slot->tts_isnull;
    for (int i = 0; i < emitter->probe_count; i++) {
        const EmitProbeColumn* column = &emitter->probe[i];
        values[column->target] = column->values[probe_row];
        nulls[column->target] = column->nulls[probe_row];
    }
}

inline void emit_result(Emitter* emitter, uint32_t result_row) {
    Datum* values = emitter->slot->tts_values;
    bool* nulls = emitter->slot->tts_isnull;
    for (int i = 0; i < emitter->result_count; i++) {
        const EmitResultColumn* column = &emitter->result[i];
        bool isnull = is_null_at(column, result_row);
        nulls[column->target] = isnull;
        values[column->target] = isnull ? Datum{0} : datum_at(column, result_row);
    }
}

// A row that is read here, of which a column of results would be this attribute, from 0.
inline void emit_set(Emitter* emitter, const RowSet* set, uint32_t row, const int* attributes) {
    for (int i = 0; i < emitter->result_count; i++) {
        const int target = emitter->result[i].target;
        emitter->slot->tts_values[target] = set->values[attributes[i]][row];
        emitter->slot->tts_isnull[target] = set->nulls[attributes[i]][row];
    }
}

// NULL extension of either side.
inline void emit_probe_nulls(Emitter* emitter) {
    for (int i = 0; i < emitter->probe_count; i++) emitter->slot->tts_isnull[emitter->probe[i].target] = true;
}

inline void emit_result_nulls(Emitter* emitter) {
    for (int i = 0; i < emitter->result_count; i++)
        emitter->slot->tts_isnull[emitter->result[i].target] = true;
}

// Empties the slot; to be called before the emit functions.
inline void emitter_clear(Emitter* emitter) {
    if (unlikely(TTS_SHOULDFREE(emitter->slot))) ExecClearTuple(emitter->slot);
}

// Makes what was emitted the slot's row.
inline void emitter_store(Emitter* emitter) {
    TupleTableSlot* slot = emitter->slot;
    slot->tts_flags &= ~TTS_FLAG_EMPTY;
    slot->tts_nvalid = static_cast<AttrNumber>(slot->tts_tupleDescriptor->natts);
}

}  // namespace gpujoin
