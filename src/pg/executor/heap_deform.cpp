// See heap_deform.h.
#include "pg/executor/heap_deform.h"

#include <cstring>

extern "C" {
#include "access/tupmacs.h"
}

namespace gpujoin {

namespace {

uint8 align_mask(char align) {
    switch (align) {
        case TYPALIGN_CHAR:
            return 0;
        case TYPALIGN_SHORT:
            return ALIGNOF_SHORT - 1;
        case TYPALIGN_INT:
            return ALIGNOF_INT - 1;
        default:
            return ALIGNOF_DOUBLE - 1;
    }
}

uint32 align_up(uint32 offset, uint8 mask) {
    return (offset + mask) & ~uint32{mask};
}

// Finds the attributes with fixed offsets. A varlena value is at one too where it needs no padding, whatever
// its header is.
void find_offsets(HeapDeformer* deformer) {
    uint32 offset = 0;
    int i = 0;
    for (; i < deformer->attributes; i++) {
        const HeapAttribute* attribute = &deformer->attribute[i];
        uint32 aligned = align_up(offset, attribute->align_mask);
        if (attribute->length == -1 && aligned != offset) break;
        if (attribute->column) {
            attribute->column->offset = static_cast<int32>(aligned);
            deformer->fixed_columns++;
        }
        if (attribute->length < 0) {
            offset = aligned;
            break;
        }
        offset = aligned + attribute->length;
    }
    deformer->walk_from = i;
    deformer->walk_offset = offset;
}

HeapColumn* add_column(HeapDeformer* deformer, TupleDesc descriptor, Form_pg_attribute form) {
    HeapColumn* column = &deformer->columns[deformer->column_count++];
    column->attribute = form->attnum;
    column->length = form->attlen;
    column->by_value = form->attbyval;
    column->offset = -1;
    column->missing = getmissingattr(descriptor, form->attnum, &column->missing_is_null);
    column->values = static_cast<Datum*>(palloc(sizeof(Datum) * MaxHeapTuplesPerPage));
    column->nulls = static_cast<bool*>(palloc0(sizeof(bool) * MaxHeapTuplesPerPage));
    return column;
}

template <typename Stored>
void read_values(HeapColumn* column, const HeapTupleHeader* tuples, uint32 rows) {
    for (uint32 row = 0; row < rows; row++) {
        const char* data = reinterpret_cast<const char*>(tuples[row]) + tuples[row]->t_hoff;
        Stored value;
        memcpy(&value, data + column->offset, sizeof(value));
        column->values[row] = static_cast<Datum>(value);  // sign-extended, as fetch_att() does
    }
}

void read_pointers(HeapColumn* column, const HeapTupleHeader* tuples, uint32 rows) {
    for (uint32 row = 0; row < rows; row++) {
        const char* data = reinterpret_cast<const char*>(tuples[row]) + tuples[row]->t_hoff;
        column->values[row] = PointerGetDatum(data + column->offset);
    }
}

void read_fixed(HeapColumn* column, const HeapTupleHeader* tuples, uint32 rows) {
    if (!column->by_value) return read_pointers(column, tuples, rows);
    switch (column->length) {
        case 1:
            return read_values<int8>(column, tuples, rows);
        case 2:
            return read_values<int16>(column, tuples, rows);
        case 4:
            return read_values<int32>(column, tuples, rows);
        default:
            return read_values<int64>(column, tuples, rows);
    }
}

void set_null(HeapColumn* column, uint32 row) {
    column->values[row] = 0;
    column->nulls[row] = column->has_nulls = true;
}

// Attributes that a tuple lacks, because they were added after it was written.
void take_missing(const HeapDeformer* deformer, int from, uint32 row) {
    for (int i = from; i < deformer->attributes; i++) {
        HeapColumn* column = deformer->attribute[i].column;
        if (!column) continue;
        if (column->missing_is_null)
            set_null(column, row);
        else
            column->values[row] = column->missing;
    }
}

uint32 value_offset(const HeapAttribute* attribute, const char* data, uint32 offset) {
    // A varlena that starts with a byte other than zero has a short header and no padding before it.
    if (attribute->length == -1 && VARATT_NOT_PAD_BYTE(data + offset)) return offset;
    return align_up(offset, attribute->align_mask);
}

// Reads a row from an attribute on, which starts at or after `offset`, to the `stored`th.
template <bool nullable>
void walk(const HeapDeformer* deformer, HeapTupleHeader tuple, uint32 row, int from, int stored,
          uint32 offset) {
    const char* data = reinterpret_cast<const char*>(tuple) + tuple->t_hoff;
    for (int i = from; i < stored; i++) {
        const HeapAttribute* attribute = &deformer->attribute[i];
        if (nullable && att_isnull(i, tuple->t_bits)) {
            if (attribute->column) set_null(attribute->column, row);
            continue;
        }
        offset = value_offset(attribute, data, offset);
        if (attribute->column)
            attribute->column->values[row] = fetch_att(data + offset, attribute->by_value, attribute->length);
        offset = att_addlength_pointer(offset, attribute->length, data + offset);
    }
}

bool is_complete(const HeapDeformer* deformer, HeapTupleHeader tuple) {
    return !(tuple->t_infomask & HEAP_HASNULL) && HeapTupleHeaderGetNatts(tuple) >= deformer->attributes;
}

void walk_any(const HeapDeformer* deformer, HeapTupleHeader tuple, uint32 row) {
    int stored = Min(HeapTupleHeaderGetNatts(tuple), deformer->attributes);
    if (tuple->t_infomask & HEAP_HASNULL)
        walk<true>(deformer, tuple, row, 0, stored, 0);
    else
        walk<false>(deformer, tuple, row, 0, stored, 0);
    take_missing(deformer, stored, row);
}

}  // namespace

HeapDeformer* heap_deformer_create(TupleDesc descriptor, const Bitmapset* wanted) {
    auto* deformer = static_cast<HeapDeformer*>(palloc0(sizeof(HeapDeformer)));
    for (int member = -1; (member = bms_next_member(wanted, member)) >= 0;) deformer->attributes = member;
    Size columns = bms_num_members(wanted) + 1;
    deformer->columns = static_cast<HeapColumn*>(palloc0(sizeof(HeapColumn) * columns));
    Size attributes = deformer->attributes + 1;
    deformer->attribute = static_cast<HeapAttribute*>(palloc0(sizeof(HeapAttribute) * attributes));
    for (int i = 0; i < deformer->attributes; i++) {
        Form_pg_attribute form = TupleDescAttr(descriptor, i);
        HeapColumn* column = bms_is_member(i + 1, wanted) ? add_column(deformer, descriptor, form) : nullptr;
        deformer->attribute[i] = {form->attlen, form->attbyval, align_mask(form->attalign), column};
    }
    find_offsets(deformer);
    return deformer;
}

void heap_deform(HeapDeformer* deformer, const HeapTupleHeader* tuples, uint32 rows) {
    bool complete = true;
    for (uint32 row = 0; row < rows; row++) complete &= is_complete(deformer, tuples[row]);
    for (int i = 0; i < deformer->column_count; i++) {
        HeapColumn* column = &deformer->columns[i];
        if (column->has_nulls) memset(column->nulls, false, sizeof(bool) * MaxHeapTuplesPerPage);
        column->has_nulls = false;
    }
    if (!complete) {
        for (uint32 row = 0; row < rows; row++) walk_any(deformer, tuples[row], row);
        return;
    }
    for (int i = 0; i < deformer->fixed_columns; i++) read_fixed(&deformer->columns[i], tuples, rows);
    if (deformer->fixed_columns == deformer->column_count) return;
    for (uint32 row = 0; row < rows; row++)
        walk<false>(deformer, tuples[row], row, deformer->walk_from, deformer->attributes,
                    deformer->walk_offset);
}

void heap_keep_rows(HeapDeformer* deformer, const uint16* rows, uint32 count) {
    for (int i = 0; i < deformer->column_count; i++) {
        HeapColumn* column = &deformer->columns[i];
        for (uint32 row = 0; row < count; row++) column->values[row] = column->values[rows[row]];
        if (!column->has_nulls) continue;
        for (uint32 row = 0; row < count; row++) column->nulls[row] = column->nulls[rows[row]];
    }
}

}  // namespace gpujoin
