// See emitter.h.
#include "pg/executor/emitter.h"

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

void bind_result_column(EmitResultColumn* column, const ResultView* view) {
    const std::byte* memory = view->block.memory;
    const ColumnBuffers* buffers = &view->columns[column->column];
    bool nullable = buffers->validity != kNoBuffer;
    column->validity = nullable ? reinterpret_cast<const uint8_t*>(memory + buffers->validity) : nullptr;
    column->values = memory + buffers->values;
    column->data = memory + buffers->data;
}

}  // namespace gpujoin
