// See row_file.h. Values begin where their type's alignment wants them, but for varlenas with a short header,
// which a byte that is not zero shows; and so do rows, as of the format's largest alignment.
#include "pg/executor/row_file.h"

#include <fcntl.h>

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/by_reference.h"
#include "pg/join_statistics.h"

namespace gpujoin {

namespace {

constexpr Size kFirstRowBytes = 1024;
constexpr Size kMostKeptRoom = Size{1} << 20;
constexpr Size kReadBytes = Size{64} << 10;

FileName part_name(const RowFile* file, int part) {
    FileName name;
    snprintf(name.text, sizeof name.text, "%s.%d", file->name.text, part);
    return name;
}

void open_for_writing(RowFile* file) {
    MemoryContext caller = MemoryContextSwitchTo(file->context);
    file->file = file->set ? BufFileCreateFileSet(&file->set->fs, part_name(file, file->part).text)
                           : BufFileCreateTemp(false);
    MemoryContextSwitchTo(caller);
}

// nullptr where the participant has written none.
BufFile* open_part(const RowFile* file, int part) {
    MemoryContext caller = MemoryContextSwitchTo(file->context);
    BufFile* opened = BufFileOpenFileSet(&file->set->fs, part_name(file, part).text, O_RDONLY, true);
    MemoryContextSwitchTo(caller);
    return opened;
}

// Of what was read nothing is used any more.
void forget_memory(RowFile* file) {
    if (file->memory) pfree(file->memory);
    file->memory = nullptr;
    file->room = file->filled = file->used = 0;
}

void close_file(RowFile* file) {
    if (file->file) BufFileClose(file->file);
    file->file = nullptr;
}

bool is_shared(const RowFile* file) {
    return file->parts > 0;
}

bool open_next_part(RowFile* file) {
    close_file(file);
    while (!file->file && ++file->part < file->parts) file->file = open_part(file, file->part);
    return file->file;
}

// What a row begins with; where there are NULLs a bit for each column follows.
struct RowHead {
    uint32 has_nulls : 1;
    uint32 length : 31;
    uint8 nulls[FLEXIBLE_ARRAY_MEMBER];
};
constexpr Size kHeadBytes = offsetof(RowHead, nulls);
constexpr Size kMostRowBytes = PG_INT32_MAX;

Size header_bytes(const RowFormat* format, bool has_nulls) {
    return kHeadBytes + (has_nulls ? (format->count + 7) / 8 : 0);
}

bool is_null(const RowHead* head, int column) {
    return head->has_nulls && (head->nulls[column / 8] >> (column % 8) & 1);
}

// Of a pg_attribute.attalign.
uint8 alignment_bytes(char alignment) {
    return static_cast<uint8>(att_align_nominal(1, alignment));
}

// An expanded value gets a long one where it is written.
bool has_short_header(const RowColumn* column, const char* value) {
    return column->length == -1 && VARATT_IS_1B(value) && !VARATT_IS_EXTERNAL_EXPANDED(value);
}

// For a row as most are.
void make_room(RowFormat* format) {
    if (format->row) pfree(format->row);
    format->row_room = kFirstRowBytes;
    format->row = unset_in<char>(format->context, format->row_room);
}

// Room in the row that is being written.
char* reserve(RowFormat* format, Size at, Size bytes) {
    if (format->row_room < at + bytes) {
        format->row_room = Max(2 * format->row_room, at + bytes);
        format->row = static_cast<char*>(repalloc_huge(format->row, format->row_room));
    }
    return format->row + at;
}

// Where the next one goes, with zeros before it.
Size pad(RowFormat* format, Size at, Size alignment) {
    const Size to = TYPEALIGN(alignment, at);
    if (to > at) memset(reserve(format, at, to - at), 0, to - at);
    return to;
}

// Where it ends. at: where the one before does.
Size write_value(RowFormat* format, const RowColumn* column, Datum value, Size at) {
    if (column->by_value) {
        at = pad(format, at, column->alignment);
        store_att_byval(reserve(format, at, column->length), value, column->length);
        return at + column->length;
    }
    if (!has_short_header(column, DatumGetPointer(value))) at = pad(format, at, column->alignment);
    const Size bytes = value_bytes(value, column->length);
    copy_value(reserve(format, at, bytes), value, column->length, bytes);
    return at + bytes;
}

// Where the values begin.
Size write_nulls(RowFormat* format, const RowSet* set, uint32 row) {
    bool has_nulls = false;
    for (int i = 0; i < format->count; i++) has_nulls |= set->nulls[format->columns[i].attribute - 1][row];
    const Size bytes = header_bytes(format, has_nulls);
    auto* head = reinterpret_cast<RowHead*>(reserve(format, 0, bytes));
    memset(head, 0, bytes);
    head->has_nulls = has_nulls;
    for (int i = 0; has_nulls && i < format->count; i++)
        if (set->nulls[format->columns[i].attribute - 1][row])
            head->nulls[i / 8] |= static_cast<uint8>(1u << (i % 8));
    return bytes;
}

Size write_row(RowFormat* format, const RowSet* set, uint32 row) {
    Size at = write_nulls(format, set, row);
    for (int i = 0; i < format->count; i++) {
        const RowColumn* column = &format->columns[i];
        const int attribute = column->attribute - 1;
        if (!set->nulls[attribute][row]) at = write_value(format, column, set->values[attribute][row], at);
    }
    at = pad(format, at, format->alignment);
    if (at > kMostRowBytes)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("row of a GPU Join is too large for a temporary file"));
    reinterpret_cast<RowHead*>(format->row)->length = static_cast<uint32>(at);
    return at;
}

[[noreturn]] void report_cut_file(Size read, Size wanted) {
    ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("could not read from a temporary file: read only %zu of %zu bytes", read, wanted));
}

// Brings so many bytes that are not used yet into memory, and more. False where the file has ended.
bool fill_memory(RowFile* file, Size wanted) {
    const Size left = file->filled - file->used;
    if (file->room < wanted) {
        char* memory = allocate<char>(file->context, Max(wanted, kReadBytes), 0, MCXT_ALLOC_HUGE);
        if (left > 0) memcpy(memory, file->memory + file->used, left);
        if (file->memory) pfree(file->memory);
        file->memory = memory;
        file->room = Max(wanted, kReadBytes);
    } else if (left > 0) {
        memmove(file->memory, file->memory + file->used, left);
    }
    file->used = 0;
    file->filled = left;
    if (file->file) file->filled += BufFileRead(file->file, file->memory + left, file->room - left);
    if (file->filled >= wanted) return true;
    if (file->filled > 0) report_cut_file(file->filled, wanted);
    return false;
}

// In memory, as a whole; nullptr where there is none yet.
const RowHead* row_in_memory(const RowFile* file, Size* wanted) {
    const Size left = file->filled - file->used;
    *wanted = kHeadBytes;
    if (left < *wanted) return nullptr;
    const auto* head = reinterpret_cast<const RowHead*>(file->memory + file->used);
    *wanted = head->length;
    if (*wanted < kHeadBytes) report_cut_file(*wanted, kHeadBytes);
    return left < *wanted ? nullptr : head;
}

// nullptr at the end.
const RowHead* next_row(RowFile* file) {
    Size wanted;
    for (;;) {
        if (const RowHead* head = row_in_memory(file, &wanted)) return head;
        if (!fill_memory(file, wanted) && (!is_shared(file) || !open_next_part(file))) return nullptr;
    }
}

void take_values(const RowFormat* format, const RowHead* head, uint32 row, Datum* const* values,
                 bool* const* nulls, bool* has_nulls) {
    const auto* start = reinterpret_cast<const char*>(head);
    Size at = header_bytes(format, head->has_nulls);
    for (int i = 0; i < format->count; i++) {
        const RowColumn* column = &format->columns[i];
        nulls[i][row] = is_null(head, i);
        has_nulls[i] |= nulls[i][row];
        values[i][row] = 0;
        if (nulls[i][row]) continue;
        if (column->length != -1 || start[at] == 0) at = TYPEALIGN(column->alignment, at);
        values[i][row] = fetch_att(start + at, column->by_value, column->length);
        at += column->by_value ? column->length : value_bytes(values[i][row], column->length);
    }
}

}  // namespace

RowFormat* row_format_create(MemoryContext context, TupleDesc descriptor, const Bitmapset* attributes) {
    const int count = bms_num_members(attributes);
    auto* format = allocate<RowFormat>(context, 1, count * sizeof(RowColumn), MCXT_ALLOC_ZERO);
    format->context = context;
    format->alignment = alignof(RowHead);
    make_room(format);
    for (int attribute = -1; (attribute = bms_next_member(attributes, attribute)) >= 0;) {
        const FormData_pg_attribute* described = TupleDescAttr(descriptor, attribute - 1);
        const uint8 alignment = alignment_bytes(described->attalign);
        format->columns[format->count++] = {static_cast<AttrNumber>(attribute), described->attlen,
                                            described->attbyval, alignment};
        format->alignment = Max(format->alignment, alignment);
    }
    return format;
}

RowFile* row_file_create(MemoryContext context) {
    auto* file = zeroed_in<RowFile>(context);
    file->context = context;
    file->users = 1;
    return file;
}

RowFile* row_file_create_part(MemoryContext context, SharedFileSet* set, FileName name, int part) {
    RowFile* file = row_file_create(context);
    file->set = set;
    file->name = name;
    file->part = part;
    return file;
}

RowFile* row_file_open_parts(MemoryContext context, SharedFileSet* set, FileName name, int parts) {
    RowFile* file = row_file_create(context);
    file->set = set;
    file->name = name;
    file->parts = parts;
    for (int part = 0; part < parts; part++) {
        BufFile* opened = open_part(file, part);
        if (!opened) continue;
        file->bytes += BufFileSize(opened);
        BufFileClose(opened);
    }
    file->part = -1;
    return file;
}

void row_file_add(RowFile* file, RowFormat* format, const RowSet* set, uint32 row) {
    if (!file->file) open_for_writing(file);
    const Size bytes = write_row(format, set, row);
    BufFileWrite(file->file, format->row, bytes);
    if (unlikely(format->row_room > kMostKeptRoom)) make_room(format);
    file->bytes += bytes;
    note_spilled_bytes(bytes);
}

void row_file_rewind(RowFile* file) {
    forget_memory(file);
    if (is_shared(file)) {
        close_file(file);
        file->part = -1;
    } else if (file->file && BufFileSeek(file->file, 0, 0, SEEK_SET) != 0) {
        ereport(ERROR, errcode_for_file_access(), errmsg("could not rewind a temporary file of a GPU Join"));
    }
}

// At least one, and as many more as are in memory.
uint32 row_file_read(RowFile* file, const RowFormat* format, uint32 most, Datum* const* values,
                     bool* const* nulls, bool* has_nulls) {
    memset(has_nulls, false, format->count);
    const RowHead* head = next_row(file);
    if (!head) forget_memory(file);
    uint32 rows = 0;
    for (Size wanted; head; head = rows < most ? row_in_memory(file, &wanted) : nullptr) {
        take_values(format, head, rows++, values, nulls, has_nulls);
        file->used += head->length;
    }
    return rows;
}

void row_file_clear(RowFile* file) {
    forget_memory(file);
    close_file(file);
    file->bytes = 0;
}

void row_file_leave(RowFile* file) {
    if (--file->users > 0) return;
    if (file->set && !is_shared(file) && file->file) BufFileExportFileSet(file->file);
    forget_memory(file);
    close_file(file);
    pfree(file);
}

}  // namespace gpujoin
