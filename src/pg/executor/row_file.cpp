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

constexpr Size kWrittenBytes = BLCKSZ;
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

// False where there is no other, and where it is this process's alone.
bool open_next_part(RowFile* file) {
    if (!is_shared(file)) return false;
    close_file(file);
    file->used = file->filled = 0;
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

// Where the next one goes, with zeros before it. start: of the row.
Size pad(char* start, Size at, Size alignment) {
    const Size to = TYPEALIGN(alignment, at);
    if (to > at) memset(start + at, 0, to - at);
    return to;
}

// Where it ends. at: where the one before does.
Size write_value(char* start, const RowColumn* column, Datum value, Size at) {
    if (column->by_value) {
        at = pad(start, at, column->alignment);
        store_att_byval(start + at, value, column->length);
        return at + column->length;
    }
    if (!has_short_header(column, DatumGetPointer(value))) at = pad(start, at, column->alignment);
    const Size bytes = value_bytes(value, column->length);
    copy_value(start + at, value, column->length, bytes);
    return at + bytes;
}

// Where the values begin.
Size write_nulls(char* start, const RowFormat* format, const RowSet* set, uint32 row) {
    bool has_nulls = false;
    for (int i = 0; i < format->count; i++) has_nulls |= set->nulls[format->columns[i].attribute - 1][row];
    const Size bytes = header_bytes(format, has_nulls);
    auto* head = reinterpret_cast<RowHead*>(start);
    memset(head, 0, bytes);
    head->has_nulls = has_nulls;
    for (int i = 0; has_nulls && i < format->count; i++)
        if (set->nulls[format->columns[i].attribute - 1][row])
            head->nulls[i / 8] |= static_cast<uint8>(1u << (i % 8));
    return bytes;
}

// What it takes.
Size write_row(char* start, const RowFormat* format, const RowSet* set, uint32 row) {
    Size at = write_nulls(start, format, set, row);
    for (int i = 0; i < format->count; i++) {
        const RowColumn* column = &format->columns[i];
        const int attribute = column->attribute - 1;
        if (!set->nulls[attribute][row]) at = write_value(start, column, set->values[attribute][row], at);
    }
    at = pad(start, at, format->alignment);
    reinterpret_cast<RowHead*>(start)->length = static_cast<uint32>(at);
    return at;
}

Size most_bytes(const RowFormat* format, const RowSet* set, uint32 row) {
    Size bytes = format->fixed_bytes;
    for (int i = 0; i < format->count; i++) {
        const RowColumn* column = &format->columns[i];
        const int attribute = column->attribute - 1;
        if (column->by_value || set->nulls[attribute][row]) continue;
        bytes += column->alignment + value_bytes(set->values[attribute][row], column->length);
    }
    if (bytes > kMostRowBytes)
        ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                errmsg("row of a GPU Join is too large for a temporary file"));
    return bytes;
}

// What is still to be written, but for the mark.
void write_out(RowFile* file) {
    if (file->filled == 0) return;
    if (!file->file) open_for_writing(file);
    BufFileWrite(file->file, file->memory, file->filled);
    note_spilled_bytes(file->filled);
    file->filled = 0;
}

void make_room(RowFile* file, Size bytes) {
    write_out(file);
    if (file->room >= bytes) return;
    forget_memory(file);
    file->room = Max(bytes, kWrittenBytes);
    file->memory = allocate<char>(file->context, file->room, 0, MCXT_ALLOC_HUGE);
}

// No row is that short, and no hole in a file looks like that.
constexpr RowHead kMark = {1, 1, {}};

bool is_mark(const RowHead* head) {
    return head->has_nulls && head->length == kMark.length;
}

void finish_writing(RowFile* file) {
    if (!file->is_written) return;
    write_out(file);
    RowHead mark = kMark;
    BufFileWrite(file->file, &mark, kHeadBytes);
    forget_memory(file);
    file->is_written = false;
}

[[noreturn]] void report_cut_file(Size read, Size wanted) {
    ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("could not read from a temporary file: read only %zu of %zu bytes", read, wanted));
}

// Brings so many bytes that are not used yet into memory, and more.
void fill_memory(RowFile* file, Size wanted) {
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
    file->filled = left + BufFileRead(file->file, file->memory + left, file->room - left);
    if (file->filled < wanted) report_cut_file(file->filled, wanted);
}

// In memory, as a whole, or the mark; nullptr where there is none yet.
const RowHead* row_in_memory(const RowFile* file, Size* wanted) {
    const Size left = file->filled - file->used;
    *wanted = kHeadBytes;
    if (left < *wanted) return nullptr;
    const auto* head = reinterpret_cast<const RowHead*>(file->memory + file->used);
    if (is_mark(head)) return head;
    *wanted = head->length;
    if (*wanted < kHeadBytes) report_cut_file(*wanted, kHeadBytes);
    return left < *wanted ? nullptr : head;
}

// nullptr at the end.
const RowHead* next_row(RowFile* file) {
    if (!file->file && !open_next_part(file)) return nullptr;
    Size wanted;
    while (file->file) {
        const RowHead* head = row_in_memory(file, &wanted);
        if (head && !is_mark(head)) return head;
        if (!head)
            fill_memory(file, wanted);
        else if (!open_next_part(file))
            break;
    }
    return nullptr;
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
    format->alignment = alignof(RowHead);
    for (int attribute = -1; (attribute = bms_next_member(attributes, attribute)) >= 0;) {
        const FormData_pg_attribute* described = TupleDescAttr(descriptor, attribute - 1);
        const uint8 alignment = alignment_bytes(described->attalign);
        format->columns[format->count++] = {static_cast<AttrNumber>(attribute), described->attlen,
                                            described->attbyval, alignment};
        format->alignment = Max(format->alignment, alignment);
        if (described->attbyval) format->fixed_bytes += alignment - 1 + described->attlen;
    }
    format->fixed_bytes += header_bytes(format, true) + format->alignment - 1;
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

void row_file_add(RowFile* file, const RowFormat* format, const RowSet* set, uint32 row) {
    Assert(file->is_written || !file->file);
    const Size most = most_bytes(format, set, row);
    if (file->room - file->filled < most) make_room(file, most);
    const Size bytes = write_row(file->memory + file->filled, format, set, row);
    file->is_written = true;
    file->filled += bytes;
    file->bytes += bytes;
    if (likely(file->room == kWrittenBytes)) return;
    // There are many files, and each may have had such a row.
    write_out(file);
    forget_memory(file);
}

void row_file_rewind(RowFile* file) {
    finish_writing(file);
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
    uint32 rows = 0;
    for (Size wanted; head && !is_mark(head); head = rows < most ? row_in_memory(file, &wanted) : nullptr) {
        take_values(format, head, rows++, values, nulls, has_nulls);
        file->used += head->length;
    }
    return rows;
}

void row_file_clear(RowFile* file) {
    forget_memory(file);
    close_file(file);
    file->is_written = false;
    file->bytes = 0;
}

void row_file_leave(RowFile* file) {
    if (--file->users > 0) return;
    if (file->set && !is_shared(file) && file->is_written) {
        finish_writing(file);
        BufFileExportFileSet(file->file);
    }
    forget_memory(file);
    close_file(file);
    pfree(file);
}

}  // namespace gpujoin
