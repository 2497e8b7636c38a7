// See batch_writer.h.
#include "pg/executor/batch_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace gpujoin {

namespace {

constexpr double kFirstAverage = 24;  // data bytes a row, before any was seen
constexpr uint64_t kMaxDataBytes = std::numeric_limits<uint32_t>::max() & ~(kBufferAlignment - 1);

// Bytes of all buffers but data for a batch of `rows` rows.
uint64_t fixed_bytes(const BatchWriter* writer, uint64_t rows) {
    uint64_t bytes = 0;
    for (int i = 0; i < writer->column_count; i++) {
        uint32_t width = fixed_width(writer->columns[i].spec.type);
        bytes += align_buffer(validity_bytes(rows)) + align_buffer(width ? width * rows : 4 * (rows + 1));
    }
    return bytes;
}

double expected_data_bytes(const InputColumn* column) {
    if (column->spec.type != ColumnType::Bytes) return 0;
    return 8 + 1.25 * (column->average > 0 ? column->average : kFirstAverage);
}

// Data bytes a row that the Bytes columns are likely to need, with some slack.
double expected_row_data(const BatchWriter* writer) {
    double bytes = 0;
    for (int i = 0; i < writer->column_count; i++) bytes += expected_data_bytes(&writer->columns[i]);
    return bytes;
}

// The most rows, up to target_rows, that the block is likely to hold.
uint32_t plan_capacity(const BatchWriter* writer, uint32_t target_rows) {
    uint64_t slack = (3 * static_cast<uint64_t>(writer->column_count) + 1) * kBufferAlignment;
    double row_bytes = expected_row_data(writer);
    for (int i = 0; i < writer->column_count; i++) {
        uint32_t width = fixed_width(writer->columns[i].spec.type);
        row_bytes += 0.125 + (width ? width : 4);
    }
    double rows = writer->block.bytes > slack ? (writer->block.bytes - slack) / row_bytes : 1;
    return static_cast<uint32_t>(std::clamp(rows, 1.0, static_cast<double>(target_rows)));
}

// Gives every column its buffers for `capacity` rows; what is left of the block is shared out as data room. A
// column that wants a certain room for a single value gets that first.
void lay_out(BatchWriter* writer, uint32_t capacity) {
    std::byte* next = writer->block.memory;
    uint64_t promised = 0;
    for (int i = 0; i < writer->column_count; i++) promised += align_buffer(writer->columns[i].wanted);
    uint64_t used = fixed_bytes(writer, capacity) + promised;
    uint64_t left = writer->block.bytes > used ? writer->block.bytes - used : 0;
    double weight = expected_row_data(writer);
    for (int i = 0; i < writer->column_count; i++) {
        InputColumn* column = &writer->columns[i];
        uint32_t width = fixed_width(column->spec.type);
        column->has_nulls = false;
        column->validity = reinterpret_cast<uint8_t*>(next);
        memset(column->validity, 0xff, validity_bytes(capacity));
        next += align_buffer(validity_bytes(capacity));
        column->values = next;
        column->offsets = reinterpret_cast<uint32_t*>(next);
        next += align_buffer(width ? width * uint64_t{capacity} : 4 * (uint64_t{capacity} + 1));
        if (width) continue;
        column->offsets[0] = 0;
        column->data = next;
        uint64_t share = static_cast<uint64_t>(left * (expected_data_bytes(column) / weight));
        column->room =
            std::min(align_buffer(column->wanted) + (share & ~(kBufferAlignment - 1)), kMaxDataBytes);
        next += column->room;
    }
    writer->capacity = capacity;
    writer->rows = 0;
}

bool is_out_of_range(int code) {
    return code == ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE || code == ERRCODE_DATETIME_VALUE_OUT_OF_RANGE;
}

// The expression's value, NULL where it overflows. That error is caught without a subtransaction: functions
// that may_overflow() leave nothing behind that one would have to clean up, and there are no others in the
// expression that raise errors.
Datum evaluate_or_null(const BatchWriter* writer, const InputColumn* column, bool* isnull) {
    MemoryContext context = CurrentMemoryContext;
    volatile Datum value = 0;
    *isnull = true;
    PG_TRY();
    { value = ExecEvalExpr(column->expression, writer->context, isnull); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        if (!is_out_of_range(geterrcode())) PG_RE_THROW();
        FlushErrorState();
        *isnull = true;
    }
    PG_END_TRY();
    return value;
}

bool put_value(BatchWriter* writer, InputColumn* column, TupleTableSlot* slot, bool* isnull) {
    Datum value;
    if (column->attribute > 0) {
        value = slot->tts_values[column->attribute - 1];
        *isnull = slot->tts_isnull[column->attribute - 1];
    } else if (column->may_overflow) {
        value = evaluate_or_null(writer, column, isnull);
    } else {
        value = ExecEvalExpr(column->expression, writer->context, isnull);
    }
    if (likely(!*isnull)) return column->encoder.put(column, writer->rows, value);
    put_null(column, writer->rows);
    return true;
}

// Like core, does not evaluate keys of equalities behind one that is NULL.
bool put_values(BatchWriter* writer, TupleTableSlot* slot) {
    bool taken = true;
    bool has_null_key = false;
    for (int i = 0; i < writer->column_count; i++) {
        InputColumn* column = &writer->columns[i];
        bool isnull;
        if (unlikely(has_null_key) && i < writer->equality_columns && column->attribute == 0) {
            put_null(column, writer->rows);
            continue;
        }
        taken &= put_value(writer, column, slot, &isnull);
        has_null_key |= isnull && i < writer->equality_columns;
    }
    return taken;
}

// What encoding a value allocates lives until the next value.
uint32_t put_allocating(BatchWriter* writer, InputColumn* column, const Datum* values, const bool* nulls,
                        uint32_t count) {
    MemoryContext caller = MemoryContextSwitchTo(writer->context->ecxt_per_tuple_memory);
    uint32_t i = 0;
    for (; i < count; i++) {
        ResetExprContext(writer->context);
        if (nulls && nulls[i])
            put_null(column, writer->rows + i);
        else if (!column->encoder.put(column, writer->rows + i, values[i]))
            break;
    }
    MemoryContextSwitchTo(caller);
    return i;
}

uint32_t put_column(BatchWriter* writer, InputColumn* column, const RowSet* set, uint32_t count) {
    int attribute = column->attribute - 1;
    const Datum* values = set->values[attribute];
    const bool* nulls = set->has_nulls[attribute] ? set->nulls[attribute] : nullptr;
    PutValues put_rows = column->encoder.put_rows;
    if (put_rows) return put_rows(column, writer->rows, values, nulls, count);
    return put_allocating(writer, column, values, nulls, count);
}

void want_nothing(BatchWriter* writer) {
    for (int i = 0; i < writer->column_count; i++) writer->columns[i].wanted = 0;
}

}  // namespace

bool batch_begin(BatchWriter* writer, Client* client, uint32_t target_rows) {
    if (writer->has_spare) {
        writer->block = writer->spare;
        writer->has_spare = false;
    } else if (!client_take_block(client, 0, true, &writer->block)) {
        return false;
    }
    want_nothing(writer);
    lay_out(writer, plan_capacity(writer, target_rows));
    return true;
}

bool batch_begin_rows(BatchWriter* writer, std::byte* memory, uint64_t bytes, uint32_t rows) {
    if (fixed_bytes(writer, rows) > bytes) return false;
    writer->block = {0, bytes, memory};
    want_nothing(writer);
    lay_out(writer, rows);
    return true;
}

// Detoasting and expressions may allocate; what they allocate lives until the next row.
bool batch_add(BatchWriter* writer, TupleTableSlot* slot) {
    bool taken;
    if (!writer->allocates) {
        taken = put_values(writer, slot);
    } else {
        ResetExprContext(writer->context);
        writer->context->ecxt_outertuple = writer->context->ecxt_innertuple = slot;
        MemoryContext caller = MemoryContextSwitchTo(writer->context->ecxt_per_tuple_memory);
        taken = put_values(writer, slot);
        MemoryContextSwitchTo(caller);
    }
    writer->rows += taken;
    return taken;
}

uint32_t batch_add_rows(BatchWriter* writer, const RowSet* set, uint32_t count) {
    uint32_t taken = count;
    if (writer->evaluates) {
        taken = 0;
        while (taken < count && batch_add(writer, row_set_fetch(set, taken))) taken++;
        return taken;
    }
    for (int i = 0; i < writer->column_count; i++) {
        // Every column is to say what it wants for a row that does not fit.
        uint32_t put = put_column(writer, &writer->columns[i], set, Max(taken, 1u));
        taken = Min(taken, put);
    }
    writer->rows += taken;
    return taken;
}

bool batch_make_room(BatchWriter* writer, Client* client) {
    uint64_t bytes = fixed_bytes(writer, 1);
    for (int i = 0; i < writer->column_count; i++) bytes += align_buffer(writer->columns[i].wanted);
    if (bytes > writer->block.bytes) {
        Assert(!writer->has_spare);
        writer->spare = writer->block;
        writer->has_spare = true;
        if (!client_take_block(client, bytes, true, &writer->block)) return false;
    }
    lay_out(writer, 1);
    return true;
}

void batch_finish(BatchWriter* writer) {
    for (int i = 0; i < writer->column_count; i++) {
        InputColumn* column = &writer->columns[i];
        ColumnBuffers* buffers = &writer->buffers[i];
        auto offset = [writer](const void* buffer) {
            return static_cast<uint64_t>(static_cast<const std::byte*>(buffer) - writer->block.memory);
        };
        buffers->validity = column->has_nulls ? offset(column->validity) : kNoBuffer;
        buffers->values = offset(column->values);
        buffers->data = buffers->data_bytes = 0;
        if (column->spec.type != ColumnType::Bytes) continue;
        buffers->data = offset(column->data);
        buffers->data_bytes = column->offsets[writer->rows];
        column->average = static_cast<double>(buffers->data_bytes) / writer->rows;
    }
}

void batch_writer_reset(BatchWriter* writer) {
    writer->has_spare = false;
    writer->rows = 0;
}

}  // namespace gpujoin
