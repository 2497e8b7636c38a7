// See file_rows.h.
#include "pg/executor/file_rows.h"

#include "pg/allocate.h"

extern "C" {
#include "miscadmin.h"
}

namespace gpujoin {

namespace {

void make_set(FileRows* rows, MemoryContext context, TupleDesc descriptor) {
    const int attributes = descriptor->natts;
    rows->shown_values = zeroed_in<const Datum*>(context, attributes + 1);
    rows->shown_nulls = zeroed_in<const bool*>(context, attributes + 1);
    rows->shown_has_nulls = zeroed_in<bool>(context, attributes + 1);
    MemoryContext caller = MemoryContextSwitchTo(context);
    TupleTableSlot* slot = MakeTupleTableSlot(descriptor, &TTSOpsVirtual);
    memset(slot->tts_isnull, true, attributes);
    ExecStoreVirtualTuple(slot);
    MemoryContextSwitchTo(caller);
    rows->set = {0, rows->shown_values, rows->shown_nulls, rows->shown_has_nulls, slot, attributes};
}

uint32 read(FileRows* rows, uint32 most) {
    return row_file_read(rows->file, rows->format, most, rows->values, rows->nulls, rows->has_nulls);
}

// The next one that is to be read.
uint32 read_flagged(FileRows* rows) {
    while (read(rows, 1) > 0) {
        if (are_read(rows->read, rows->flags, rows->number++)) return 1;
        CHECK_FOR_INTERRUPTS();
    }
    return 0;
}

void show(FileRows* rows) {
    rows->set.rows = rows->count - rows->taken;
    for (int i = 0; i < rows->format->count; i++) {
        const int attribute = rows->format->columns[i].attribute - 1;
        rows->shown_values[attribute] = rows->values[i] + rows->taken;
        rows->shown_nulls[attribute] = rows->nulls[i] + rows->taken;
        rows->shown_has_nulls[attribute] = rows->has_nulls[i];
    }
}

}  // namespace

FileRows* file_rows_create(MemoryContext context, TupleDesc descriptor, const Bitmapset* attributes) {
    auto* rows = zeroed_in<FileRows>(context);
    rows->format = row_format_create(context, descriptor, attributes);
    const int columns = rows->format->count;
    rows->values = zeroed_in<Datum*>(context, columns + 1);
    rows->nulls = zeroed_in<bool*>(context, columns + 1);
    rows->has_nulls = zeroed_in<bool>(context, columns + 1);
    for (int i = 0; i < columns; i++) {
        rows->values[i] = unset_in<Datum>(context, kMostRowsOfFileSet);
        rows->nulls[i] = unset_in<bool>(context, kMostRowsOfFileSet);
    }
    make_set(rows, context, descriptor);
    return rows;
}

void file_rows_begin(FileRows* rows, RowFile* file, const RowFlags* flags, RowsRead read) {
    rows->file = file;
    rows->flags = flags;
    rows->read = read;
    rows->number = 0;
    rows->count = rows->taken = 0;
    if (file) row_file_rewind(file);
}

const RowSet* file_rows_next(FileRows* rows) {
    if (rows->taken == rows->count) {
        CHECK_FOR_INTERRUPTS();
        rows->taken = 0;
        rows->count = rows->flags ? read_flagged(rows) : read(rows, kMostRowsOfFileSet);
        if (rows->count == 0) return nullptr;
    }
    show(rows);
    return &rows->set;
}

}  // namespace gpujoin
