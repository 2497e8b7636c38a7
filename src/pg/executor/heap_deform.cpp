// See heap_deform.h.
#include "pg/executor/heap_deform.h"

#include <cstring>

#include "pg/allocate.h"

extern "C" {
#include "access/tupmacs.h"
}

namespace gpujoin {

namespace {

void prefetch(const char* line) {
    __builtin_prefetch(line, 0, 2);
}

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

HeapColumn* add_column(HeapDeformer* deformer, TupleDesc descriptor, Form_pg_attribute form) {
    HeapColumn* column = &deformer->columns[deformer->column_count++];
    column->attribute = form->attnum;
    column->length = form->attlen;
    column->by_value = form->attbyval;
    column->missing = getmissingattr(descriptor, form->attnum, &column->missing_is_null);
    column->values = unset<Datum>(MaxHeapTuplesPerPage);
    column->nulls = zeroed<bool>(MaxHeapTuplesPerPage);
    return column;
}

// Cuts the attributes into runs. The start of the first one is aligned for all types.
void find_runs(HeapDeformer* deformer) {
    deformer->runs = zeroed<HeapRun>(deformer->attributes + 1);
    HeapRun* run = deformer->runs;
    uint8 known_mask = MAXIMUM_ALIGNOF - 1;
    uint32 offset = 0;
    auto end_run = [&](const HeapAttribute* variable, uint8 align_mask) {
        run->end = offset;
        run->variable = variable;
        run->align_mask = known_mask = align_mask;
        run[1].columns = run->columns + (variable && variable->column);
        run++;
        offset = 0;
    };
    for (int i = 0; i < deformer->attributes; i++) {
        const HeapAttribute* attribute = &deformer->attribute[i];
        bool last = i + 1 == deformer->attributes;
        bool varies = attribute->length < 0;
        bool padded = (offset & attribute->align_mask) || attribute->align_mask > known_mask;
        if (varies && (padded || !last)) {
            bool fixed_next = !last && attribute[1].length > 0;
            end_run(attribute, fixed_next ? attribute[1].align_mask : 0);
            continue;
        }
        if (attribute->align_mask > known_mask) end_run(nullptr, attribute->align_mask);
        offset = align_up(offset, attribute->align_mask);
        if (attribute->column) {
            attribute->column->offset = offset;
            run->columns++;
        }
        offset += Max(attribute->length, 0);
    }
    deformer->run_count = static_cast<int>(run - deformer->runs) + 1;
}

template <typename Stored>
void read_values(HeapColumn* column, const char* const* starts, uint32 rows) {
    Datum* values = column->values;
    uint32 offset = column->offset;
    for (uint32 row = 0; row < rows; row++) {
        Stored value;
        memcpy(&value, starts[row] + offset, sizeof(value));
        values[row] = static_cast<Datum>(int64{value});  // sign-extended, as fetch_att() does
    }
}

void read_pointers(HeapColumn* column, const char* const* starts, uint32 rows) {
    for (uint32 row = 0; row < rows; row++)
        column->values[row] = PointerGetDatum(starts[row] + column->offset);
}

void read_column(HeapColumn* column, const char* const* starts, uint32 rows) {
    if (!column->by_value) return read_pointers(column, starts, rows);
    switch (column->length) {
        case 1:
            return read_values<int8>(column, starts, rows);
        case 2:
            return read_values<int16>(column, starts, rows);
        case 4:
            return read_values<int32>(column, starts, rows);
        default:
            return read_values<int64>(column, starts, rows);
    }
}

const char* align_up(const char* pointer, uint8 mask) {
    return reinterpret_cast<const char*>((reinterpret_cast<uintptr_t>(pointer) + mask) & ~uintptr_t{mask});
}

const char* data_of(HeapTupleHeader tuple) {
    return reinterpret_cast<const char*>(tuple) + tuple->t_hoff;
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

// Reads a row to the `stored`th attribute.
template <bool nullable>
void walk(const HeapDeformer* deformer, HeapTupleHeader tuple, uint32 row, int stored) {
    const char* data = data_of(tuple);
    uint32 offset = 0;
    for (int i = 0; i < stored; i++) {
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

// Reads the attribute that ends a run, if it is wanted, and steps over it. Nearly all have short headers.
template <bool wanted>
void step_variable(const HeapRun* run, const char** starts, uint32 rows) {
    const HeapAttribute* attribute = run->variable;
    Datum* values = wanted ? attribute->column->values : nullptr;
    bool varlena = attribute->length == -1;
    uint32 offset = run->end;
    uint8 mask = run->align_mask;
    for (uint32 row = 0; row < rows; row++) {
        const char* value = starts[row] + offset;
        if (likely(varlena && VARATT_IS_1B(value) && !VARATT_IS_1B_E(value))) {
            starts[row] = align_up(value + VARSIZE_1B(value), mask);
        } else {
            if (!varlena || !VARATT_NOT_PAD_BYTE(value)) value = align_up(value, attribute->align_mask);
            starts[row] = align_up(att_addlength_pointer(value, attribute->length, value), mask);
        }
        if (wanted) values[row] = PointerGetDatum(value);
    }
}

void step(const HeapRun* run, const char** starts, uint32 rows) {
    if (!run->variable) {
        for (uint32 row = 0; row < rows; row++)
            starts[row] = align_up(starts[row] + run->end, run->align_mask);
    } else if (run->variable->column) {
        step_variable<true>(run, starts, rows);
    } else {
        step_variable<false>(run, starts, rows);
    }
}

// Reads tuples that have all attributes, whose data start there.
void read_runs(const HeapDeformer* deformer, const char** starts, uint32 rows) {
    int column = 0;
    for (int i = 0; i < deformer->run_count; i++) {
        const HeapRun* run = &deformer->runs[i];
        for (; column < run->columns; column++) read_column(&deformer->columns[column], starts, rows);
        if (i + 1 == deformer->run_count) break;
        step(run, starts, rows);
        column += run->variable && run->variable->column;
    }
}

bool is_complete(const HeapDeformer* deformer, HeapTupleHeader tuple) {
    return !(tuple->t_infomask & HEAP_HASNULL) && HeapTupleHeaderGetNatts(tuple) >= deformer->attributes;
}

void walk_any(const HeapDeformer* deformer, HeapTupleHeader tuple, uint32 row) {
    int stored = Min(HeapTupleHeaderGetNatts(tuple), deformer->attributes);
    if (tuple->t_infomask & HEAP_HASNULL)
        walk<true>(deformer, tuple, row, stored);
    else
        walk<false>(deformer, tuple, row, stored);
    take_missing(deformer, stored, row);
}

}  // namespace

HeapDeformer* heap_deformer_create(TupleDesc descriptor, const Bitmapset* wanted) {
    auto* deformer = zeroed<HeapDeformer>();
    for (int member = -1; (member = bms_next_member(wanted, member)) >= 0;) deformer->attributes = member;
    Size columns = bms_num_members(wanted) + 1;
    deformer->columns = zeroed<HeapColumn>(columns);
    Size attributes = deformer->attributes + 1;
    deformer->attribute = zeroed<HeapAttribute>(attributes);
    for (int i = 0; i < deformer->attributes; i++) {
        Form_pg_attribute form = TupleDescAttr(descriptor, i);
        HeapColumn* column = bms_is_member(i + 1, wanted) ? add_column(deformer, descriptor, form) : nullptr;
        deformer->attribute[i] = {form->attlen, form->attbyval, align_mask(form->attalign), column};
    }
    find_runs(deformer);
    return deformer;
}

void heap_deform(HeapDeformer* deformer, const HeapTupleHeader* tuples, uint32 rows) {
    for (int i = 0; i < deformer->column_count; i++) {
        HeapColumn* column = &deformer->columns[i];
        if (column->has_nulls) memset(column->nulls, false, sizeof(bool) * MaxHeapTuplesPerPage);
        column->has_nulls = false;
    }
    const char* starts[MaxHeapTuplesPerPage];
    uint16 others[MaxHeapTuplesPerPage];
    uint32 other_count = 0;
    uint32 complete = 0;
    for (uint32 row = 0; row < rows; row++) {
        bool whole = is_complete(deformer, tuples[row]);
        starts[row] = data_of(tuples[row]);
        complete = whole ? row : complete;
        others[other_count] = static_cast<uint16>(row);
        other_count += !whole;
    }
    if (2 * other_count > rows) {
        for (uint32 row = 0; row < rows; row++) walk_any(deformer, tuples[row], row);
        return;
    }
    // In place of each of the others one that is complete is read, and then written over.
    for (uint32 i = 0; i < other_count; i++) starts[others[i]] = data_of(tuples[complete]);
    if (rows > 0) read_runs(deformer, starts, rows);
    for (uint32 i = 0; i < other_count; i++) walk_any(deformer, tuples[others[i]], others[i]);
}

void heap_prefetch(const char* page, const char* current, const HeapTupleHeader* tuples, uint32 rows,
                   bool second) {
    constexpr uint32 kLine = PG_CACHE_LINE_SIZE / 2;
    constexpr uint32 kLines = BLCKSZ / kLine;
    if (!page) return;
    if (2 * rows >= kLines) {
        for (uint32 i = 0; i < kLines / 2; i++) prefetch(page + kLine * (second ? kLines / 2 + i : i));
        return;
    }
    if (!second)
        for (uint32 i = 0; i < SizeOfPageHeaderData + rows * sizeof(ItemIdData); i += kLine)
            prefetch(page + i);
    for (uint32 row = second ? rows / 2 : 0; row < (second ? rows : rows / 2); row++) {
        const char* place = page + (reinterpret_cast<const char*>(tuples[row]) - current);
        prefetch(place);
        prefetch(place + kLine);
    }
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
