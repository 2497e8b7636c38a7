// See emitter.h.
#include "pg/executor/emitter.h"

extern "C" {
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
}

namespace gpujoin {

void emitter_bind_batch(Emitter* emitter, const ProbeBatch* batch) {
    for (int i = 0; i < emitter->probe_count; i++) {
        EmitProbeColumn* column = &emitter->probe[i];
        column->values = batch->values[column->kept];
        column->nulls = batch->nulls[column->kept];
    }
}

void emitter_bind_result(Emitter* emitter, const ResultView* view) {
    if (view->rows == 0) return;
    for (int i = 0; i < emitter->result_count; i++) bind_result_column(&emitter->result[i], view);
}

Datum made_varlena(const EmitResultColumn* column, uint32_t row) {
    const auto* offsets = reinterpret_cast<const uint32_t*>(column->values) + row;
    const auto* bytes = reinterpret_cast<const char*>(column->data) + offsets[0];
    const Datum made =
        PointerGetDatum(cstring_to_text_with_len(bytes, static_cast<int>(offsets[1] - offsets[0])));
    if (column->form == OutputForm::Varlena) return made;
    return DirectFunctionCall3(bpchar, made, Int32GetDatum(column->typmod), BoolGetDatum(false));
}

void bind_result_column(EmitResultColumn* column, const ResultView* view) {
    const std::byte* memory = view->block.memory;
    const ColumnBuffers* buffers = &view->columns[column->column];
    bool nullable = buffers->validity != kNoBuffer;
    column->validity = nullable ? reinterpret_cast<const uint8_t*>(memory + buffers->validity) : nullptr;
    column->values = memory + buffers->values;
    column->data = memory + buffers->data;
}

}  // namespace gpujoin
